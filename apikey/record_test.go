package apikey_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/record"
)

// Every field of a key comes back from its record.
func TestRecord(t *testing.T) {
	var k apikey.Key
	v := reflect.ValueOf(&k).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case time.Time:
			f.Set(reflect.ValueOf(time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)))
		case int, int64:
			f.SetInt(int64(1 + i))
		default:
			f.SetString("the key's " + v.Type().Field(i).Name)
		}
	}
	k.Hash = "0123456789abcdef the rest"
	r, err := k.Record()
	must(t, err)
	if got, err := apikey.FromRecord(r); err != nil || got != k {
		t.Errorf("FromRecord: %+v, %v, want %+v", got, err, k)
	}
	r.Data = nil
	want := record.Record{Key: record.Key{Kind: record.APIKey, ID: k.ID}, Owner: k.Owner, Lookup: "0123456789abcdef", Note: "2026-01-12T00:00:00Z", Version: k.Version, CreatedAt: k.CreatedAt}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("Record: %+v, want %+v", r, want)
	}
	if _, err := apikey.FromRecord(r); err == nil {
		t.Error("FromRecord of a record without data: no error")
	}
}
