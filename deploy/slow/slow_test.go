package slow

import (
	"strings"
	"testing"
)

func TestAProgramAFileAndRootAreLookedFor(t *testing.T) {
	for _, need := range []string{"go", "/"} {
		if err := lack(need); err != nil {
			t.Errorf("%s: %v", need, err)
		}
	}
	for _, need := range []string{"no-such-program", "/no/such/file"} {
		if lack(need) == nil {
			t.Errorf("%s is there", need)
		}
	}
}

func TestASkippedTestSaysHowToRunItAndWhatItNeeds(t *testing.T) {
	got := skipped("TestX", []string{"nginx", "root"})
	want := "not a fast test; run it with TICKETRAIL_TEST_ALL=1 go test -run '^TestX$'; it needs nginx, root"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := skipped("TestX", nil); strings.Contains(got, "needs") {
		t.Error(got)
	}
}
