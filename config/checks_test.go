package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachConfigurationOfTheListIsAnsweredAsItSays(t *testing.T) {
	const list, wholeFile = "testdata/checks.txt", "whole file"
	b, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n\n")

	var got []string
	for _, block := range want {
		if block[0] != '#' && block[0] != '=' {
			text, _, _ := strings.Cut(block, "\n=> ")
			text, _, _ = strings.Cut(text, "\n~> ")
			file := good + text
			if rest, whole := strings.CutPrefix(text, wholeFile); whole {
				file = strings.TrimPrefix(rest, "\n")
			}
			block = text + answer(t, file+"\n")
		}
		got = append(got, block)
	}
	if *update {
		if err := os.WriteFile(list, []byte(strings.Join(got, "\n\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// answer returns the errors and warnings that a file gives, each on a line.
func answer(t *testing.T, file string) string {
	t.Helper()
	var b strings.Builder
	c, err := Parse("/nowhere/ticketrail.yaml", []byte(file))
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
	if strings.Contains(b.String(), "hunter2") || strings.Contains(b.String(), "PLANTED") {
		t.Errorf("%s\nshows a secret: %s", file, b.String())
	}
	return b.String()
}
