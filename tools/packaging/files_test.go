package packaging

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// What serve does when it is told to stop, by default: see drain and stop-time
// of its configuration. The rest is for what ignores its end.
const (
	drain    = 2 * time.Second
	stopTime = 15 * time.Second
	ignored  = 15 * time.Second

	stops = drain + 2*stopTime + ignored
)

// deployed is a file of deploy.
func deployed(name string) string { return filepath.Join("../../deploy", name) }

// decode reads the documents of a YAML file, into one value each.
func decode(t *testing.T, name string, into ...any) {
	t.Helper()
	f, err := os.Open(deployed(name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	for _, v := range into {
		if err := d.Decode(v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		t.Errorf("%s has more than %d documents: %v", name, len(into), err)
	}
}

// compose is what matters of compose.yaml.
type compose struct {
	Services map[string]struct {
		Build struct {
			Context, Dockerfile string
		}
		Command     []string
		Environment map[string]string
		StopGrace   string   `yaml:"stop_grace_period"`
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
		Security    []string `yaml:"security_opt"`
		Tmpfs       []string
		Ports       []string
		Restart     string
		Volumes     []string
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Health      struct{ Test []string }               `yaml:"healthcheck"`
	}
	Volumes map[string]any
}

// Two servers that share one PostgreSQL, whose data stays, and that have the time to
// leave.
func TestCompose(t *testing.T) {
	var c compose
	decode(t, "compose.yaml", &c)
	for _, name := range []string{"one", "two"} {
		s := c.Services[name]
		if !slices.Equal(s.Command, []string{"serve"}) || !slices.Contains(s.Volumes, "./streamwatch.yaml:"+s.Environment["STREAMWATCH_CONFIG"]+":ro") {
			t.Errorf("%s runs %q with %v, want serve with the configuration", name, s.Command, s.Volumes)
		}
		if grace, err := time.ParseDuration(s.StopGrace); err != nil || grace < stops {
			t.Errorf("%s has stop_grace_period %s, %v, want %s or more", name, s.StopGrace, err, stops)
		}
		if _, err := os.Stat(filepath.Join("../../deploy", s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.HasPrefix(s.Environment["STREAMWATCH_DB"], "postgres://streamwatch@postgres/streamwatch?") || s.Environment["OPS_ADDR"] != ":9090" || s.DependsOn["postgres"].Condition != "service_healthy" {
			t.Errorf("%s: environment %v, depends on %v", name, s.Environment, s.DependsOn)
		}
		for variable, of := range map[string]string{"STREAMWATCH_SEAL_KEY": "STREAMWATCH_SEAL_KEY", "PGPASSWORD": "POSTGRES_PASSWORD"} {
			if value := s.Environment[variable]; !strings.HasPrefix(value, "${"+of+":?") {
				t.Errorf("%s has %s=%s, want %s of .env, and no start without it", name, variable, value, of)
			}
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.Security, "no-new-privileges:true") || !slices.Contains(s.Tmpfs, "/tmp") {
			t.Errorf("%s has more rights than it needs", name)
		}
		if len(s.Ports) != 1 || !strings.HasPrefix(s.Ports[0], "127.0.0.1:") || !strings.HasSuffix(s.Ports[0], ":8080") {
			t.Errorf("%s has ports %q, want one, on loopback", name, s.Ports)
		}
	}
	postgres := c.Services["postgres"]
	if env := postgres.Environment; env["POSTGRES_USER"] != "streamwatch" || env["POSTGRES_PASSWORD"] != c.Services["one"].Environment["PGPASSWORD"] {
		t.Errorf("postgres has the environment %v, want the user and the password of the servers", env)
	}
	if len(postgres.Ports) > 0 || !slices.Contains(postgres.Health.Test, "pg_isready") {
		t.Errorf("postgres has ports %q and the check %q, want no port, and pg_isready", postgres.Ports, postgres.Health.Test)
	}
	for _, v := range postgres.Volumes {
		name, path, _ := strings.Cut(v, ":")
		if _, ok := c.Volumes[name]; !ok || path != "/var/lib/postgresql" {
			t.Errorf("volume %s is not there, or not that of the image of version 18", v)
		}
	}
	if len(postgres.Volumes) != 1 {
		t.Errorf("postgres has volumes %q, want one", postgres.Volumes)
	}
}

// The Redis of deploy/README.md keeps everything, too.
func TestRedisInstead(t *testing.T) {
	text, err := os.ReadFile(deployed("README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var c compose
	if err := yaml.Unmarshal([]byte("services:\n"+block), &c); err != nil {
		t.Fatal(err)
	}
	redis := strings.Join(c.Services["redis"].Command, " ")
	if !strings.Contains(redis, "--appendonly yes") || !strings.Contains(redis, "--maxmemory-policy noeviction") || len(c.Services["redis"].Volumes) != 1 {
		t.Errorf("redis runs %q, want it to keep everything", redis)
	}
}

// probe is one of a container's.
type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	Period  int                         `yaml:"periodSeconds"`
	Failure int                         `yaml:"failureThreshold"`
}

// deployment is what matters of one.
type deployment struct {
	Kind string
	Spec struct {
		Replicas int
		Selector struct {
			Labels map[string]string `yaml:"matchLabels"`
		}
		Strategy struct {
			Rolling map[string]int `yaml:"rollingUpdate"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
	}
}

// pod is what matters of one.
type pod struct {
	Grace    int `yaml:"terminationGracePeriodSeconds"`
	Security struct {
		NonRoot bool                  `yaml:"runAsNonRoot"`
		User    int                   `yaml:"runAsUser"`
		Seccomp struct{ Type string } `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	Containers []container
}

// container is what matters of one.
type container struct {
	Args []string
	Env  []struct {
		Name, Value string
		From        map[string]any `yaml:"valueFrom"`
	}
	Mounts []struct {
		Path string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
	Ports []struct {
		Name string
		Port int `yaml:"containerPort"`
	}
	Ready     probe `yaml:"readinessProbe"`
	Live      probe `yaml:"livenessProbe"`
	Resources struct{ Limits map[string]string }
	Security  struct {
		Escalation *bool                   `yaml:"allowPrivilegeEscalation"`
		ReadOnly   bool                    `yaml:"readOnlyRootFilesystem"`
		Caps       struct{ Drop []string } `yaml:"capabilities"`
	} `yaml:"securityContext"`
}

// env is the environment, without what is from elsewhere.
func (c *container) env() map[string]string {
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	return env
}

// The pods have the time to leave, get requests only while they are ready, and are not
// restarted because a store is gone.
func TestKubernetes(t *testing.T) {
	var d deployment
	var service struct {
		Kind string
		Spec struct {
			Selector map[string]string
			Ports    []struct {
				Target string `yaml:"targetPort"`
			}
		}
	}
	decode(t, "kubernetes.yaml", &d, &service)
	p := d.Spec.Template.Spec
	if d.Kind != "Deployment" || service.Kind != "Service" || len(p.Containers) != 1 {
		t.Fatalf("%+v, %+v", d, service)
	}
	if grace := time.Duration(p.Grace) * time.Second; grace < stops {
		t.Errorf("terminationGracePeriodSeconds %s, want %s or more", grace, stops)
	}
	if r := d.Spec.Strategy.Rolling; d.Spec.Replicas < 2 || r["maxUnavailable"] != 0 || r["maxSurge"] != 1 {
		t.Errorf("%d replicas, rolled out by %v", d.Spec.Replicas, r)
	}
	for key, label := range d.Spec.Selector.Labels {
		if d.Spec.Template.Metadata.Labels[key] != label || service.Spec.Selector[key] != label {
			t.Errorf("label %s=%s is not that of the pods and of the service", key, label)
		}
	}
	c := p.Containers[0]
	ports := map[string]int{}
	for _, port := range c.Ports {
		ports[port.Name] = port.Port
	}
	if len(service.Spec.Ports) != 1 || ports[service.Spec.Ports[0].Target] != 8080 {
		t.Errorf("the service has ports %v of %v", service.Spec.Ports, ports)
	}
	for path, probe := range map[string]probe{"/readyz": c.Ready, "/livez": c.Live} {
		if probe.HTTPGet.Path != path || ports[probe.HTTPGet.Port] != 9090 || probe.Period <= 0 || probe.Failure < 2 {
			t.Errorf("probe %+v, want one of %s on the port of operators", probe, path)
		}
	}
	if !slices.Equal(c.Args, []string{"serve"}) || len(c.Mounts) != 1 || c.Mounts[0].Path != "/etc/streamwatch" {
		t.Errorf("arguments %q, mounts %v, want serve, and the configuration", c.Args, c.Mounts)
	}
	env := c.env()
	if env["STREAMWATCH_ADDR"] != ":8080" || env["OPS_ADDR"] != ":9090" || env["STREAMWATCH_CONFIG"] != "/etc/streamwatch/streamwatch.yaml" {
		t.Errorf("environment %v, want the ports and the configuration", env)
	}
	for _, e := range c.Env {
		if (e.Name == "STREAMWATCH_DB" || e.Name == "STREAMWATCH_SEAL_KEY") && e.From["secretKeyRef"] == nil {
			t.Errorf("%s is %v, want a secret", e.Name, e.From)
		}
	}
	if !p.Security.NonRoot || p.Security.User != 65534 || p.Security.Seccomp.Type != "RuntimeDefault" || c.Security.Escalation == nil || *c.Security.Escalation ||
		!c.Security.ReadOnly || !slices.Equal(c.Security.Caps.Drop, []string{"ALL"}) || c.Resources.Limits["memory"] == "" {
		t.Errorf("the pod has more rights than it needs: %+v, %+v", p.Security, c)
	}
}

// unit reads a systemd unit: the last value of each key.
func unit(t *testing.T, name string) map[string]string {
	t.Helper()
	f, err := os.Open(deployed(name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	set := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), "="); ok && !strings.HasPrefix(key, "#") {
			set[key] = value
		}
	}
	return set
}

// The unit has the time to leave, may write its own state alone, and is not started
// again for a mistake.
func TestUnit(t *testing.T) {
	set := unit(t, "streamwatch.service")
	for key, want := range map[string]string{
		"DynamicUser": "yes", "StateDirectory": "streamwatch", "WorkingDirectory": "/var/lib/streamwatch", "ProtectSystem": "strict", "ProtectHome": "yes",
		"NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "Restart": "always", "RestartPreventExitStatus": "78",
		"ExecStart": "/usr/local/bin/streamwatch serve -config /etc/streamwatch/streamwatch.yaml",
	} {
		if got, ok := set[key]; !ok || got != want {
			t.Errorf("%s=%s, want %q", key, got, want)
		}
	}
	if stop, err := time.ParseDuration(set["TimeoutStopSec"] + "s"); err != nil || stop < stops {
		t.Errorf("TimeoutStopSec=%s, %v, want %s or more", set["TimeoutStopSec"], err, stops)
	}
}

// What holds a key, or customers' records, gets into no layer of a build.
func TestBuildContext(t *testing.T) {
	text, err := os.ReadFile(deployed("Dockerfile.dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	left := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, want := range []string{".git", "**/*.db*", "**/.env*"} {
		if !slices.Contains(left, want) {
			t.Errorf("the build's context is not without %s: it leaves out %q", want, left)
		}
	}
}
