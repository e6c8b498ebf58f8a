package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// forProgrammers is text that cobra, package flag and the standard library write, and no operator reads.
var forProgrammers = regexp.MustCompile(`strconv|arg\(s\)|invalid argument|unknown (command|flag|shorthand)|` +
	`dial unix|invalid syntax|time: |parse error|goroutine`)

func TestWrongUseOfEveryCommandEndsWith2AndSaysWhatIsWrong(t *testing.T) {
	wrong := func(t *testing.T, args ...string) {
		t.Helper()
		code, out, errs := runCommand(t, args...)
		if code != exitUsage || out != "" || !strings.Contains(errs, "try: ticketrail") ||
			forProgrammers.MatchString(errs) {
			t.Errorf("ticketrail %s ends with %d, stdout %q, and says\n%s", strings.Join(args, " "), code, out, errs)
		}
	}
	everyCommand(func(cmd *cobra.Command, path []string) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			wrong(t, append(path, "--no-such-flag")...)
			wrong(t, append(path, "-x")...)
			if cmd.Name() != "help" {
				_, argument, _ := strings.Cut(cmd.Use, " ")
				if argument != "" && !strings.HasPrefix(argument, "[") {
					wrong(t, path...)
				}
				if !strings.Contains(argument, "...") {
					tooMany := make([]string, len(strings.Fields(argument))+1)
					for i := range tooMany {
						tooMany[i] = "one"
					}
					wrong(t, append(path, tooMany...)...)
				}
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
		if len(path) > 0 && path[0] == "completion" {
			return // cobra's own
		}
		_, out, _ := runCommand(t, append(path, "--help")...)
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s --help: %d columns: %s", cmd.CommandPath(), n, line)
			}
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
		if code != exitNoReply || out != "" || !strings.Contains(errs, "not running") ||
			forProgrammers.MatchString(errs) {
			t.Errorf("%s ends with %d, stdout %q, and says\n%s", path, code, out, errs)
		}
		asked++
	})
	if asked < 18 {
		t.Errorf("only %d commands were tried", asked)
	}
}

func TestALineIsFoldedAtBlanks(t *testing.T) {
	for _, c := range []struct {
		columns  int
		in, want string
	}{
		{0, "a line for a program", "a line for a program"},
		{80, "a line that fits", "a line that fits"},
		{10, "one two three", "one two\n  three"},
		{7, "one two three", "one two\n  three"},
		{8, "/a/very/long/path is whole", "/a/very/long/path\n  is\n  whole"},
		{8, "宫保 鸡丁 辣", "宫保\n  鸡丁\n  辣"},
	} {
		if got := fold(c.in, c.columns, 2); got != c.want {
			t.Errorf("%q at %d columns is %q, want %q", c.in, c.columns, got, c.want)
		}
	}
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
