package main

import (
	"strings"
	"testing"
)

func TestRedisOptions(t *testing.T) {
	if in := (&stored{redis: "redis://me:pw@h:1/2"}).where(); in != "redis://***@h:1/2" {
		t.Errorf("where: %q, want the address without the password", in)
	}
	o, err := redisOptions("redis://me:pw@h:1/2")
	if err != nil || o.Addrs[0] != "h:1" || o.DB != 2 || o.Password != "pw" || o.IsClusterMode {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = redisOptions("rediss://h:1?addr=i:2"); err != nil || len(o.Addrs) != 2 || !o.IsClusterMode || o.TLSConfig == nil {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range []string{"http://me:pw@h", "redis://me:pw@h:1/x", "redis://me:pw@h:x", "redis://h?password=pw", "redis://h?db=pw", "redis://h?addr=h:1&db=pw",
		"redis://h/%zz?password=pw"} {
		if _, err := redisOptions(bad); err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: error %v, want one without the password", bad, err)
		}
	}
}
