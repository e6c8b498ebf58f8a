package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ticketrail/deploy/assert"
)

func TestWrongUseOfEveryCommandEndsWith2AndNamesTheHelp(t *testing.T) {
	wrong := func(t *testing.T, args ...string) {
		t.Helper()
		code, out, errs := runCommand(t, args...)
		assert.True(t, code == exitUsage && out == "", args, code, out)
		assert.Contains(t, errs, "try: ticketrail")
	}
	everyCommand(func(cmd *cobra.Command, path []string) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			wrong(t, append(path, "--no-such-flag")...)
			wrong(t, append(path, "-x")...)
			_, argument, _ := strings.Cut(cmd.Use, " ")
			if argument != "" && !strings.HasPrefix(argument, "[") {
				wrong(t, path...)
			}
			if !strings.Contains(argument, "...") {
				wrong(t, append(path, "one", "two", "three")...)
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if f.NoOptDefVal == "" {
					wrong(t, append(path, "--"+f.Name)...)
				}
				if !strings.HasPrefix(f.Value.Type(), "string") || f.Value.Type() == "stringSlice" {
					wrong(t, append(path, "--"+f.Name+`=a"b`)...)
				}
			})
		})
	})
}

func TestTheHelpOfEveryCommandFitsIn80Columns(t *testing.T) {
	everyCommand(func(cmd *cobra.Command, path []string) {
		_, out, _ := runCommand(t, append(path, "--help")...)
		for line := range strings.Lines(out) {
			line = strings.TrimSuffix(line, "\n")
			n := utf8.RuneCountInString(line)
			assert.True(t, n <= 80 || strings.HasPrefix(line, "Use \""), cmd.CommandPath(), n, line)
		}
	})
}

func TestEveryCommandThatNeedsTheDaemonEndsWith3WithoutOne(t *testing.T) {
	nowhere := t.TempDir() + "/none.sock"
	args := map[string][]string{"ID": {"7"}, "ID...": {"7"}, "STATION": {"grill"}, "CODE": {"AAAA"}, "PAIRING": {"x"}}
	asked := 0
	everyCommand(func(cmd *cobra.Command, path []string) {
		if len(path) == 0 || !slices.Contains([]string{"status", "jobs", "printers", "screens", "rejects"}, path[0]) ||
			cmd.Name() == "profiles" || cmd.Name() == "discover" {
			return
		}
		_, argument, _ := strings.Cut(cmd.Use, " ")
		path = append(path, args[argument]...)
		if cmd.Name() == "move" {
			path = append(path, "7", "--to", "bar")
		}
		code, out, errs := runCommand(t, append(path, "--socket", nowhere)...)
		assert.True(t, code == exitNoReply && (out != "") == (path[0] == "status"), path, code, out)
		assert.Contains(t, errs, "not running")
		asked++
	})
	assert.True(t, asked >= 18, asked)
}

// TestTheErrorThatEndsAServiceIsAnErrorInTheJournal: `journalctl -p warning` would else show only its exit code.
func TestTheErrorThatEndsAServiceIsAnErrorInTheJournal(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	must(t, err)
	defer out.Close()
	var st syscall.Stat_t
	must(t, syscall.Fstat(int(out.Fd()), &st))
	config := filepath.Join(t.TempDir(), "t.yaml")
	must(t, os.WriteFile(config, []byte("printer: []\n"), 0o600))
	serve := exec.Command(realProgram, "serve", "--config", config)
	serve.Env = append(os.Environ(), fmt.Sprintf("JOURNAL_STREAM=%d:%d", st.Dev, st.Ino))
	serve.Stderr = out
	err = serve.Run()
	said, _ := os.ReadFile(out.Name())
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	last := "<3>ticketrail: config/invalid: configuration on disk is refused (" + config + ": line 1: printer: "
	assert.True(t, err != nil && strings.HasPrefix(lines[0], "<3>line 1: "), err, lines)
	assert.True(t, strings.HasPrefix(lines[len(lines)-1], last), lines)
}

// everyCommand calls f for each command that does something itself.
func everyCommand(f func(cmd *cobra.Command, path []string)) {
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		f(cmd, path)
		for _, sub := range cmd.Commands() {
			walk(sub, append(slices.Clip(path), sub.Name()))
		}
	}
	root := (&cli{}).root()
	root.InitDefaultHelpFlag()
	walk(root, nil)
}
