// Package assert has the checks of which many tests have several. One that fails says the values that it is about.
package assert

import "strings"

// T is a test of Go or of rapid.
type T interface {
	Helper()
	Errorf(format string, values ...any)
	Fatal(values ...any)
}

// NoError ends the test at an error.
func NoError(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// True checks that something holds, and says the values that it is about.
func True(t T, holds bool, values ...any) {
	t.Helper()
	if !holds {
		t.Errorf("failed: %+v", values)
	}
}

// Equal checks that got is want, and says which case it is about.
func Equal[V comparable](t T, got, want V, about ...any) {
	t.Helper()
	if got != want {
		t.Errorf("failed: %#v instead of %#v: %+v", got, want, about)
	}
}

// Contains checks that a text has a part.
func Contains(t T, text, part string) {
	t.Helper()
	True(t, strings.Contains(text, part), text, part)
}
