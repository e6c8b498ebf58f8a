package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/cmd/internal/finding"
	"ticketrail/deploy/assert"
)

// TestWhatTheNextStartWouldRefuseIsFound changes the files of the next start, and nothing of some changes is in the
// time or size of the file.
func TestWhatTheNextStartWouldRefuseIsFound(t *testing.T) {
	dir := t.TempDir()
	path, secret := filepath.Join(dir, "t.yaml"), filepath.Join(dir, "secret")
	const good = "venues: [ { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Harbour Grill, timezone: UTC } ]\n" +
		"receiver: { secret_file: secret }\n" +
		"printers: [ { name: grill, address: \"tcp://127.0.0.1:1\" } ]\nfallback: grill\n"
	must := func(err error) {
		t.Helper()
		assert.NoError(t, err)
	}
	write := func(text string) func() { return func() { must(os.WriteFile(path, []byte(text), 0o600)) } }
	const key = "Tn8vXq2LmZ4cRb7WyHd9KsPf3GjE6uAo"
	must(os.WriteFile(secret, []byte(key), 0o600))
	write(good)()
	f := &configFile{path: path}
	for _, c := range []struct {
		name, kind, says string
		change           func()
	}{
		{"as at the start", "", "", func() {}},
		{"a note", "", "", write(good + "# a note\n")},
		{"a typo", "invalid", "fallbak", write(good + "fallbak: grill\n")},
		{"repaired", "", "", write(good)},
		{"a secret that was moved", "secret_missing", secret, func() { must(os.Rename(secret, secret+".old")) }},
		{"moved back", "", "", func() { must(os.Rename(secret+".old", secret)) }},
		{"a secret without a line", "secret_missing", secret, func() { must(os.Truncate(secret, 0)) }},
		{"removed", "unreadable", path, func() { must(os.Remove(path)) }},
	} {
		c.change()
		got := f.problems()
		if c.kind == "" {
			assert.True(t, len(got) == 0, c.name, got)
			continue
		}
		assert.True(t, len(got) == 1 && got[0].Kind == c.kind && strings.Contains(got[0].Text, c.says), c.name, got)
	}
	must(os.WriteFile(secret, []byte(key), 0o600))
	f.reloaded(os.ErrPermission) // such as a port that may not be opened
	write(good)()
	d := f.problems()
	assert.True(t, len(d) == 1 && d[0] == (finding.Problem{Kind: "invalid", Text: os.ErrPermission.Error()}),
		"a valid file that could not be used", d)
	if f.reloaded(nil); len(f.problems()) > 0 {
		t.Errorf("after a reload: %+v", f.problems())
	}
}
