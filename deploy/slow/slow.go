// Package slow marks the tests that need more than Go: a program, a font, root, or real minutes. "go test ./..." skips
// them, so it is fast and does the same on every machine. With TICKETRAIL_TEST_ALL=1 they run, and a missing program is
// a failure: .ci/run installs it. A promise to the kitchen must not go unproved because a program was missing.
package slow

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Switch is the environment variable that runs every test.
const Switch = "TICKETRAIL_TEST_ALL"

// Test skips t without the switch. With it, t fails if something that it needs is missing: a program by its name, a
// file by its absolute path, or "root".
func Test(t testing.TB, needs ...string) {
	t.Helper()
	if !All() {
		t.Skip(skipped(t.Name(), needs))
	}

	for _, need := range needs {
		if err := lack(need); err != nil {
			t.Fatalf("this test needs %s (bash .ci/run installs what the tests need): %v", need, err)
		}
	}
}

// All says whether every test runs, for a test that has more rows or real connections then.
func All() bool { return os.Getenv(Switch) != "" }

// skipped says how to run the test all the same.
func skipped(test string, needs []string) string {
	text := fmt.Sprintf("not a fast test; run it with %s=1 go test -run '^%s$'", Switch, test)
	if len(needs) > 0 {
		text += "; it needs " + strings.Join(needs, ", ")
	}
	return text
}

// lack returns why need is not met, nil if it is.
func lack(need string) error {
	switch {
	case need == "root":
		if os.Getuid() != 0 {
			return errors.New("the user is not root")
		}
		return nil
	case strings.HasPrefix(need, "/"):
		_, err := os.Stat(need)
		return err
	default:
		_, err := exec.LookPath(need)
		return err
	}
}
