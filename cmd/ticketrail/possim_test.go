package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// buildProgram returns a function that builds a program of this module, once, when it is first asked.
func buildProgram(t *testing.T, name string) func() (string, error) {
	exe := filepath.Join(t.TempDir(), name)
	return sync.OnceValues(func() (string, error) {
		if out, err := exec.Command("go", "build", "-o", exe, "ticketrail/cmd/"+name).CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
		return exe, nil
	})
}

// A service is possim serve, as a process.
type service struct {
	cmd   *exec.Cmd
	url   string
	drain sync.WaitGroup
}

// startService runs one for a script, until the script ends or asks for another.
func (r *scriptDaemon) startService(ts *testscript.TestScript, build func() (string, error), args []string) error {
	exe, err := build()
	if err != nil {
		return err
	}
	r.service.end()
	s := &service{cmd: exec.Command(exe, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	s.cmd.Stderr = r.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	s.drain.Go(func() { io.Copy(r.log, lines) })
	r.service = s
	if err != nil {
		return fmt.Errorf("possim serve says nothing: %w\n%s", err, r.log)
	}
	s.url = strings.TrimSpace(first)
	ts.Setenv("TICKETRAIL_SERVICE_BASE_URL", s.url)
	return nil
}

func (s *service) end() {
	if s == nil {
		return
	}
	s.cmd.Process.Kill()
	s.drain.Wait()
	s.cmd.Wait()
}

// waitForNames waits until the directory of the running daemon has so many names and the time zone of
// its only venue.
func (r *scriptDaemon) waitForNames(employees string) error {
	want := regexp.MustCompile(`(?m)^ticketrail_directory_employees\{venue="[^"]*"\} ` + employees + `$`)
	zone := regexp.MustCompile(
		`(?m)^ticketrail_directory_refreshes_total\{result="ok",step="payrollperiods",[^}]*\} [1-9]`)
	if _, err := r.waitForMetrics(want, zone); err != nil {
		return fmt.Errorf("not %s names are known: %w\n%s", employees, err, r.log)
	}
	return nil
}

// waitForMetrics returns the metrics as soon as all of want match.
func (r *scriptDaemon) waitForMetrics(want ...*regexp.Regexp) (text string, err error) {
	err = eventually(func() error {
		resp, err := http.Get("http://" + r.metrics + "/metrics")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		text = string(b)
		for _, w := range want {
			if !w.MatchString(text) {
				return fmt.Errorf("the metrics do not have %s (%v)", w, err)
			}
		}
		return err
	})
	return text, err
}
