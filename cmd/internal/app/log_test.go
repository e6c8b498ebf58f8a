package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"ticketrail/cmd/internal/daemon"
)

const (
	logAsDaemon = "TICKETRAIL_TEST_LOG_AS_DAEMON"
	runDaemonOn = "TICKETRAIL_TEST_RUN_DAEMON_ON" // a configuration file
)

// TestMain lets the test below have a process whose standard error is what systemd would make it, and others a
// daemon as a process. It uses one processor: in Go 1.26 two timers of a synctest bubble that fire at the same time
// on two processors share one context of the race detector, and the process crashes in it. See raceCtx in the
// runtime's time.go. The race detector finds the same races on one processor.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	if format := os.Getenv(logAsDaemon); format != "" {
		log := daemon.NewLogger(os.Stderr, format, slog.LevelDebug).With("component", "test")
		for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			log.Log(context.Background(), l, "one\nline", "n", 1)
		}
		return
	}
	if path := os.Getenv(runDaemonOn); path != "" {
		if err := Run(context.Background(), Options{ConfigPath: path, Log: os.Stderr}); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
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
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		var st syscall.Stat_t
		if err := syscall.Fstat(int(out.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		if k.stream == "" {
			k.stream = fmt.Sprintf("%d:%d", st.Dev, st.Ino)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stderr = append(os.Environ(), logAsDaemon+"="+k.format, "JOURNAL_STREAM="+k.stream), out
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(out.Name())
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if len(lines) != len(k.want) {
			t.Fatalf("%s: the lines are\n%s", k.format, text)
		}
		for i, want := range k.want {
			if !regexp.MustCompile(want).MatchString(lines[i]) {
				t.Errorf("line %d is %s, want %s", i, lines[i], want)
			}
		}
	}
}
