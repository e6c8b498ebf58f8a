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
	"ticketrail/deploy/assert"
)

func TestTheConfigurationStatesTheDefaults(t *testing.T) {
	c := load(t)
	assert.True(t, len(c.Warnings) == 0, c.Warnings)

	printer, screen, display := config.DefaultPrinter(), config.Defaults[config.Screen](), config.Defaults[config.KDS]()
	compare := func(got, want any) {
		t.Helper()
		comparable := cmpopts.EquateComparable(netip.Prefix{}, config.Secret{})
		diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), comparable)
		assert.True(t, diff == "", diff)
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
	assert.NoError(t, yaml.Unmarshal([]byte(deploy.Config), &doc))
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
			assert.True(t, strings.Contains(here, " # ") || strings.HasPrefix(above, "#"), k.Line, key)
			seen[key] = true
			walk(key, n.Content[i+1])
		}
	}
	walk("", doc.Content[0])
	for _, k := range config.Keys() {
		assert.True(t, seen[k], "ticketrail.yaml lacks", k)
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
	assert.Equal(t, strings.Count(deploy.Config, " Restart."), len(marked))
	was, now := load(t), load(t)
	now.Receiver, now.Display = config.Receiver{}, config.Display{}
	now.Storage, now.Admin, now.Metrics, now.Log = config.Storage{}, config.Admin{}, config.Metrics{}, config.Log{}
	now.Service, now.Storage.Copy = config.Service{}, "/mnt/stick"
	got := now.NeedsRestart(was)
	assert.True(t, slices.Equal(got, marked), got, marked)
}

func TestEveryFileToInstallIsEmbedded(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if path == "package" { // a program, with files of its own
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".go") || path == "README.md" {
			return err
		}
		_, err = deploy.Files.ReadFile(path)
		assert.NoError(t, err)
		return nil
	})
	assert.NoError(t, err)
}

// load loads the configuration as the daemon does.
func load(t *testing.T) *config.Config {
	t.Helper()
	c, err := config.Load("ticketrail.yaml")
	assert.NoError(t, err)
	return c
}
