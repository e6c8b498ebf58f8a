package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestEachConfigurationOfTheListIsAnsweredAsItSays(t *testing.T) {
	const list, wholeFile, relayFile = "testdata/checks.txt", "whole file", "relay file"
	b, err := os.ReadFile(list)
	assert.NoError(t, err)
	want := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n\n")
	dir := t.TempDir()
	for name, text := range secretFiles {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	writePair(t, dir, "a")
	writePair(t, dir, "b")

	var got []string
	for _, block := range want {
		if block[0] != '#' && block[0] != '=' {
			text, _, _ := strings.Cut(block, "\n=> ")
			text, _, _ = strings.Cut(text, "\n~> ")
			file, ofRelay := good+text, strings.HasPrefix(text, relayFile)
			if strings.HasPrefix(text, wholeFile) || ofRelay {
				_, file, _ = strings.Cut(text, "\n")
			}
			block = text + strings.ReplaceAll(answer(t, dir, file+"\n", ofRelay), dir, "DIR")
		}
		got = append(got, block)
	}
	if *update {
		assert.NoError(t, os.WriteFile(list, []byte(strings.Join(got, "\n\n")+"\n"), 0o644))
	}
	wantSame(t, want, got)
}

// secretFiles are beside each configuration of the list.
var secretFiles = map[string]string{
	"one": one + "\n", "two": one + "\n" + two, "empty": "\n \n", "short": "hunter2", "slash": one + "/hunter2",
	"short2": one + "\nhunter2hunter2", "dull": strings.Repeat("ab", 20), "twice": one + "\n" + one,
	"three": one + "\n" + two + "\n" + one + "x", "other": two,
}

// answer returns the errors and warnings that a file in dir gives, of a box or of a relay, each on a line.
func answer(t *testing.T, dir, file string, ofRelay bool) string {
	t.Helper()
	accepted, warnings, err := readAs(t, filepath.Join(dir, "ticketrail.yaml"), file, ofRelay)
	assert.True(t, accepted == (err == nil), file, accepted, err)

	said := ""
	if err != nil {
		said = "\n=> " + strings.ReplaceAll(err.Error(), "\n", "\n=> ")
	}
	for _, w := range warnings {
		said += "\n~> " + w
	}
	for _, secret := range []string{"hunter2", "PLANTED", one, two} {
		assert.True(t, !strings.Contains(said, secret), "a secret is shown", file, said)
	}
	return said
}

func readAs(t *testing.T, path, file string, ofRelay bool) (accepted bool, warnings []string, err error) {
	t.Helper()
	if !ofRelay {
		c, err := Parse(path, []byte(file))
		if c != nil {
			warnings = c.Warnings
		}
		return c != nil, warnings, err
	}

	assert.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	r, err := LoadRelay(path)
	if r != nil {
		warnings = r.Warnings
	}
	return r != nil, warnings, err
}
