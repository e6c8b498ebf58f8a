package monitoringtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"ticketrail/receiver/relay/natstest"
)

// A Rule is an alert of a file of rules.
type Rule struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

// Rules are the alerts of the first group of a file.
func Rules(t *testing.T, text string) []Rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []Rule } }
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	return file.Groups[0].Rules
}

// EachFiresOrSaysWhyNot checks that every alert of a file of rules fires in one of the steps, or that it is said why it
// cannot be made to.
func EachFiresOrSaysWhyNot(t *testing.T, rules string, steps []Step, whyNot map[string]string) {
	t.Helper()
	fires := map[string]bool{}
	for _, s := range steps {
		for _, a := range s.Fires {
			name, _, _ := strings.Cut(a, " ")
			fires["Ticketrail"+name] = true
		}
	}
	for _, r := range Rules(t, rules) {
		if fires[r.Alert] == (whyNot[r.Alert] != "") {
			t.Errorf("%s: fires in a test: %t; why not: %q", r.Alert, fires[r.Alert], whyNot[r.Alert])
		}
		delete(fires, r.Alert)
	}
	if len(fires) > 0 {
		t.Errorf("there are no such alerts: %v", fires)
	}
}

// Tool is the path of a program. Without it the test is skipped, or fails if TICKETRAIL_TEST_ALL is set.
func Tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		SkipOrFail(t, err)
	}
	return path
}

// SkipOrFail ends a test that this machine lacks something for.
func SkipOrFail(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("TICKETRAIL_TEST_ALL") != "" {
		t.Fatal(err, "; .ci/run installs the programs that tests need")
	}
	t.Skip(err)
}

// FreeAddress is an address at which nothing listens. A daemon that is started again finds it free again, see
// [natstest.FreePort].
func FreeAddress(t *testing.T) string {
	t.Helper()
	port, err := natstest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}
