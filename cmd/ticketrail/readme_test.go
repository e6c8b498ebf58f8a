package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ticketrail/config"
)

// readme is the README and the pieces of configuration in it, the first a whole file.
func readme(t *testing.T) (text string, files []string) {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		files = append(files, m[1])
	}
	return string(b), files
}

func TestTheFirstTicketOfTheReadmeComesOutOfItsPrinter(t *testing.T) {
	text, files := readme(t)
	order := regexp.MustCompile(`(?m)^ *-d '(\{.*\})'$`).FindStringSubmatch(text)
	if len(files) == 0 || order == nil {
		t.Fatal("the README has no configuration or no order")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"kitchen.yaml": files[0], "body.json": order[1]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	c := &cli{in: strings.NewReader(""), out: &out, err: &errs}
	conf := filepath.Join(dir, "kitchen.yaml")
	if code := c.run(t.Context(), []string{"check", "--config", conf}); code != exitOK || errs.Len() > 0 {
		t.Errorf("check ends with %d, says\n%s", code, &errs)
	}
	out.Reset()
	code := c.run(t.Context(), []string{"inspect", filepath.Join(dir, "body.json"), "--config", conf})
	if s := out.String(); code != exitOK || !strings.Contains(s, "ticket for grill") || strings.Contains(s, "NO ROUTE") || strings.Contains(s, "anomaly:") {
		t.Errorf("inspect ends with %d, says\n%s%s", code, s, &errs)
	}
}

func TestTheReadmeNamesNoKeyThatIsNotThere(t *testing.T) {
	_, files := readme(t)
	for _, f := range files {
		_, err := config.Parse("README.md", []byte(f))
		if err != nil && (strings.Contains(err.Error(), "unknown key") || strings.Contains(err.Error(), "is not YAML")) {
			t.Errorf("%s\n%v", f, err)
		}
	}
}
