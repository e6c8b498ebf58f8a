package app

import "testing"

func TestTheOperatorsWordOnMemoryCounts(t *testing.T) {
	t.Cleanup(func() { ballast = nil })
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "")
	Ballast()
	if ballast == nil {
		t.Error("no ballast, though nobody said a word")
	}
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		ballast = nil
		t.Setenv(name, "50")
		Ballast()
		if ballast != nil {
			t.Errorf("ballast, though %s is set", name)
		}
		t.Setenv(name, "")
	}
}
