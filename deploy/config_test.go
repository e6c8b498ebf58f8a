package deploy_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"ticketrail/config"
	"ticketrail/deploy"
)

func TestTheConfigurationStatesTheDefaults(t *testing.T) {
	c := load(t)
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %q", c.Warnings)
	}

	printer, screen, display := config.DefaultPrinter(), config.Defaults[config.Screen](), config.Defaults[config.KDS]()
	compare := func(got, want any) {
		t.Helper()
		comparable := cmpopts.EquateComparable(netip.Prefix{}, config.Secret{})
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), comparable); diff != "" {
			t.Error(diff)
		}
	}
	for _, got := range c.Printers {
		got.Name, got.Address, got.Columns, got.Confirm = "", "", printer.Columns, printer.Confirm
		compare(got, printer)
	}
	for _, got := range c.Screens {
		got.Name, got.Title, got.Mode, got.Of, got.Backup = "", "", screen.Mode, nil, screen.Backup
		compare(got, screen)
	}
	for _, got := range c.KDS {
		got.Name, got.URL = "", display.URL
		compare(got, display)
	}

	c.Venues, c.Printers, c.Screens, c.KDS, c.Routes, c.Fallback = nil, nil, nil, nil, nil, ""
	c.Notify.To, c.Logs = nil, nil
	compare(*c, config.Default())
}

func TestEveryKeyIsInTheConfigurationWithAComment(t *testing.T) {
	var doc yaml.Node
	must(t, yaml.Unmarshal([]byte(deploy.Config), &doc))
	lines := strings.Split(deploy.Config, "\n")
	seen := map[string]bool{}
	var walk func(path string, n *yaml.Node)
	walk = func(path string, n *yaml.Node) {
		if n.Kind == yaml.SequenceNode {
			for _, e := range n.Content {
				walk(path+"[]", e)
			}
		}
		if n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i]
			key := strings.TrimPrefix(fmt.Sprintf("%s.%s", path, k.Value), ".")
			here, above := lines[k.Line-1], strings.TrimSpace(lines[k.Line-2])
			if !strings.Contains(here, " # ") && !strings.HasPrefix(above, "#") {
				t.Errorf("line %d: %s has no comment", k.Line, key)
			}
			seen[key] = true
			walk(key, n.Content[i+1])
		}
	}
	walk("", doc.Content[0])
	for _, k := range config.Keys() {
		if !seen[k] {
			t.Errorf("%s is not in ticketrail.yaml", k)
		}
	}
}

func TestTheConfigurationMarksWhatNeedsARestart(t *testing.T) {
	// Every marked key is changed at once; the program must name exactly the marked ones.
	// The TLS files say it in the comment they share.
	marked := []string{
		"receiver.listen",
		"receiver.tls.acme.directory",
		"receiver.max_connections",
		"display.listen",
		"storage.path",
		"storage.copy",
		"storage.dedup_retention",
		"storage.history_retention",
		"storage.max_backlog",
		"admin.socket",
		"metrics.listen",
		"log.format",
		"service.refresh",
	}
	if n := strings.Count(deploy.Config, " Restart."); n != len(marked) {
		t.Errorf("%d keys are marked, want %d", n, len(marked))
	}
	was, now := load(t), load(t)
	now.Receiver, now.Display = config.Receiver{}, config.Display{}
	now.Storage, now.Admin, now.Metrics, now.Log = config.Storage{}, config.Admin{}, config.Metrics{}, config.Log{}
	now.Service, now.Storage.Copy = config.Service{}, "/mnt/stick"
	if got := now.NeedsRestart(was); !slices.Equal(got, marked) {
		t.Errorf("got %v\nwant %v", got, marked)
	}
}

func TestEveryFileToInstallIsEmbedded(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if path == "package" { // a program, with files of its own
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".go") || path == "README.md" {
			return err
		}
		if _, err := deploy.Files.ReadFile(path); err != nil {
			t.Error(err)
		}
		return nil
	})
	must(t, err)
}

// load loads the configuration as the daemon does.
func load(t *testing.T) *config.Config {
	t.Helper()
	c, err := config.Load("ticketrail.yaml")
	must(t, err)
	return c
}

// must ends the test with an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
