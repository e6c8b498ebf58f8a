package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEachConfigurationOfTheListIsAnsweredAsItSays(t *testing.T) {
	const list, wholeFile = "testdata/checks.txt", "whole file"
	b, err := os.ReadFile(list)
	must(t, err)
	want := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n\n")
	dir := t.TempDir()
	for name, text := range secretFiles {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	writePair(t, dir, "a")
	writePair(t, dir, "b")

	var got []string
	for _, block := range want {
		if block[0] != '#' && block[0] != '=' {
			text, _, _ := strings.Cut(block, "\n=> ")
			text, _, _ = strings.Cut(text, "\n~> ")
			file := good + text
			if rest, whole := strings.CutPrefix(text, wholeFile); whole {
				file = strings.TrimPrefix(rest, "\n")
			}
			block = text + strings.ReplaceAll(answer(t, dir, file+"\n"), dir, "DIR")
		}
		got = append(got, block)
	}
	if *update {
		must(t, os.WriteFile(list, []byte(strings.Join(got, "\n\n")+"\n"), 0o644))
	}
	wantSame(t, want, got)
}

// secretFiles are beside each configuration of the list.
var secretFiles = map[string]string{
	"one": one + "\n", "two": one + "\n" + two, "empty": "\n \n", "short": "hunter2", "slash": one + "/hunter2",
	"short2": one + "\nhunter2hunter2", "dull": strings.Repeat("ab", 20), "twice": one + "\n" + one,
	"three": one + "\n" + two + "\n" + one + "x", "long": strings.Repeat(one, 40), "other": two,
}

// answer returns the errors and warnings that a file in dir gives, each on a line.
func answer(t *testing.T, dir, file string) string {
	t.Helper()
	var b strings.Builder
	c, err := Parse(filepath.Join(dir, "ticketrail.yaml"), []byte(file))
	switch {
	case (c == nil) == (err == nil):
		t.Errorf("%s\ngave a configuration %v with an error %v", file, c, err)
	case err != nil:
		b.WriteString("\n=> " + strings.ReplaceAll(err.Error(), "\n", "\n=> "))
	default:
		for _, w := range c.Warnings {
			b.WriteString("\n~> " + w)
		}
	}
	if strings.Contains(b.String(), "hunter2") || strings.Contains(b.String(), "PLANTED") ||
		strings.Contains(b.String(), one) || strings.Contains(b.String(), two) {
		t.Errorf("%s\nshows a secret: %s", file, b.String())
	}
	return b.String()
}
