package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed browser.mjs
var browserScript []byte

// A browser has some pages of one screen open, without a window, and draws them all the same.
type browser struct {
	version string
	pages   int
	cores   float64 // that it used since its pages were live; known when it has ended
	cmd     *exec.Cmd
	in      io.Closer // it ends when this does
	said    chan string
	errs    bytes.Buffer // what it complained of; read when it has ended

	live   time.Time
	before float64 // seconds of processor time until then

	mu    sync.Mutex // guards drawn
	drawn map[uint64][]time.Time
}

// browserPrograms finds what drives a browser; .ci/run installs it.
func browserPrograms() (node, chromium, modules string, err error) {
	node, err1 := exec.LookPath("node")
	chromium, err2 := exec.LookPath("chromium")
	cache, err3 := os.UserCacheDir()
	modules = filepath.Join(cache, "ticketrail", "browser", "node_modules")
	_, err4 := os.Stat(filepath.Join(modules, "playwright-core"))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		why := strings.ReplaceAll(err.Error(), "\n", "; ")
		return "", "", "", &notMeasured{"it needs node, chromium and playwright-core: " + why}
	}
	return node, chromium, modules, nil
}

// browse opens pages and waits until each is live.
func (b *bench) browse(ctx context.Context, url string, pages int) (*browser, error) {
	node, chromium, modules, err := browserPrograms()
	if err != nil {
		return nil, err
	}
	script := b.path("browser.mjs")
	if err := os.WriteFile(script, browserScript, 0o600); err != nil {
		return nil, err
	}
	w := &browser{pages: pages, said: make(chan string, 2), drawn: map[uint64][]time.Time{}}
	w.cmd = exec.CommandContext(ctx, node, script, chromium, modules, url, strconv.Itoa(pages))
	w.cmd.Stderr, w.cmd.WaitDelay = &w.errs, 10*time.Second
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go w.listen(out)
	if w.version, err = w.hear("browser", time.Minute); err != nil {
		return nil, &notMeasured{fmt.Sprintf("the browser does not start: %v", cmp.Or(w.stop(), err))}
	}
	used, err := w.hear("live", time.Minute)
	if err != nil {
		return nil, errors.Join(err, w.stop())
	}
	w.live = time.Now()
	if w.before, err = strconv.ParseFloat(used, 64); err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

// listen notes what is drawn. When, the pages say: the way of that news to here is not what a cook
// waits for, and takes long while five of them draw.
func (w *browser) listen(out io.Reader) {
	defer close(w.said)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var number uint64
		var ms int64
		if _, err := fmt.Sscanf(lines.Text(), "drawn #%d %d", &number, &ms); err != nil {
			w.said <- lines.Text()
			continue
		}
		w.mu.Lock()
		w.drawn[number] = append(w.drawn[number], time.UnixMilli(ms+1)) // never too early
		w.mu.Unlock()
	}
}

func (w *browser) hear(what string, within time.Duration) (rest string, err error) {
	select {
	case line, ok := <-w.said:
		if rest, is := strings.CutPrefix(line, what); ok && is {
			return strings.TrimSpace(rest), nil
		}
		return "", fmt.Errorf("the browser's script ended, or said %q; want %s", line, what)
	case <-time.After(within):
		return "", fmt.Errorf("the browser's script did not say %s within %v", what, within)
	}
}

// saw is when each page had drawn a ticket, as far as they have, by this machine's clock.
func (w *browser) saw(number uint64) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.drawn[number]
}

func (w *browser) stop() error {
	err := w.in.Close()
	late := time.AfterFunc(20*time.Second, func() { _ = w.cmd.Process.Kill() })
	defer late.Stop()
	for line := range w.said { // until its output ends
		if used, ok := strings.CutPrefix(line, "used "); ok {
			n, err2 := strconv.ParseFloat(used, 64)
			err = errors.Join(err, err2)
			w.cores = (n - w.before) / time.Since(w.live).Seconds()
		}
	}
	if err := errors.Join(err, w.cmd.Wait()); err != nil {
		text := strings.Join(strings.Fields(w.errs.String()), " ")
		return fmt.Errorf("the browser's script: %w: %s", err, text[max(0, len(text)-500):])
	}
	return nil
}
