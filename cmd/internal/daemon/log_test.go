package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ticketrail/deploy/assert"
)

func TestMain(m *testing.M) {
	if !logAsDaemon() {
		os.Exit(m.Run())
	}
}

func TestLinesInTheJournalHaveTheirPriorityAndNoTimeOfTheirOwn(t *testing.T) {
	for _, k := range []struct {
		format, stream string
		want           []string
	}{
		{"text", "", []string{`^<7>level=DEBUG msg="one line" component=test n=1$`, "^<6>level=INFO", "^<4>level=WARN",
			"^<3>level=ERROR"}},
		{"json", "", []string{`^<7>{"level":"DEBUG"`,
			`^<6>{"level":"INFO"`, `^<4>{"level":"WARN"`, `^<3>{"level":"ERROR"`}},
		// A program in a terminal that systemd started.
		{"text", "1:1", []string{"^time=.*DEBUG", "^time=.*INFO", "^time=.*WARN", "^time=.*ERROR"}},
	} {
		out, err := os.Create(filepath.Join(t.TempDir(), "journal"))
		assert.NoError(t, err)
		defer out.Close()
		var st syscall.Stat_t
		assert.NoError(t, syscall.Fstat(int(out.Fd()), &st))
		if k.stream == "" {
			k.stream = fmt.Sprintf("%d:%d", st.Dev, st.Ino)
		}
		cmd := exec.Command(os.Args[0]) // the test itself
		cmd.Env, cmd.Stderr = append(os.Environ(), logAsDaemonIn+"="+k.format, "JOURNAL_STREAM="+k.stream), out
		assert.NoError(t, cmd.Run())
		text, _ := os.ReadFile(out.Name())
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if len(lines) != len(k.want) {
			t.Fatalf("%s: the lines are\n%s", k.format, text)
		}
		for i, want := range k.want {
			assert.True(t, regexp.MustCompile(want).MatchString(lines[i]), i, lines[i], want)
		}
	}
}

const logAsDaemonIn = "TICKETRAIL_TEST_LOG_AS_DAEMON" // the format

// logAsDaemon logs, if this process was started for that, so that its standard error is as systemd would make it.
func logAsDaemon() bool {
	format := os.Getenv(logAsDaemonIn)
	if format == "" {
		return false
	}
	log := NewLogger(os.Stderr, format, slog.LevelDebug).With("component", "test")
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		log.Log(context.Background(), l, "one\nline", "n", 1)
	}
	return true
}
