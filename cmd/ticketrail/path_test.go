package main

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/slow"
)

// mostFiles is how many files an order may enter on its way from HTTP to paper, beside those of an idle minute. It only
// ever gets smaller: 50 are wanted.
const mostFiles = 50

func TestAnOrderEntersFewFilesAndOnlyThoseThatArchitectureLists(t *testing.T) {
	slow.Test(t, "go")
	program := filepath.Join(t.TempDir(), "ticketrail")
	// The printers of this test are not part of the daemon, so they count nothing.
	if out, err := exec.Command("go", "build", "-cover", "-coverpkg=ticketrail/...", "-o", program,
		".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	idle := executed(t, program, func(*daemonProcess) { time.Sleep(time.Minute) })
	listed := pathOfAnOrder(t)
	// What only some of the orders enter is not their path: a stop may come while a printer is asked for its status, on
	// a busy machine mostly. A file that each order enters is found however many there are.
	entered := map[string]bool{}
	unlisted := func() []string {
		all := slices.Sorted(maps.Keys(entered))
		return slices.DeleteFunc(all, func(file string) bool { return slices.Contains(listed, file) })
	}
	for n := 0; n < 3 || n < 10 && len(unlisted()) > 0; n++ {
		busy := executed(t, program, func(k *daemonProcess) {
			k.accept(newOrder("K-path-1-0000", "grill"))
			if err := eventually(func() error {
				if n := len(k.printedBy("grill")); n != 1 {
					return os.ErrNotExist
				}
				return nil
			}); err != nil {
				t.Error("the order is not on paper")
			}
		})
		now := map[string]bool{}
		for block := range busy {
			if file, _, _ := strings.Cut(block, ":"); !idle[block] {
				now[strings.TrimPrefix(file, "ticketrail/")] = true
			}
		}
		if n == 0 {
			entered = now
		}
		maps.DeleteFunc(entered, func(file string, _ bool) bool { return !now[file] })
	}
	t.Logf("%d files:\n%s", len(entered), strings.Join(slices.Sorted(maps.Keys(entered)), "\n"))
	if len(entered) > mostFiles || len(entered) < 20 {
		t.Errorf("an order enters %d files, at most %d are wanted", len(entered), mostFiles)
	}
	for _, file := range unlisted() {
		t.Errorf("an order enters %s, which is not in ARCHITECTURE.md", file)
	}
}

// executed runs the program during a story and returns the blocks of statements that it has executed.
func executed(t *testing.T, program string, story func(*daemonProcess)) map[string]bool {
	t.Helper()
	counters := t.TempDir()
	t.Setenv("GOCOVERDIR", counters)
	k := newDaemon(t, "", "grill")
	k.program = program
	k.start()
	story(k)
	k.stop()

	profile := filepath.Join(t.TempDir(), "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", counters, "-o", profile).
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] != "0" { // else the mode, which stands first
			blocks[f[0]] = true
		}
	}
	return blocks
}

// pathOfAnOrder lists the files of the section in ARCHITECTURE.md. A name without a folder is in the folder before it.
func pathOfAnOrder(t *testing.T) (files []string) {
	t.Helper()
	b, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, begins := strings.Cut(string(b), "\n## An order, from the request to the paper\n")
	section, _, ends := strings.Cut(section, "\nWhat one attempt at a printer does")
	if !begins || !ends {
		t.Fatal("ARCHITECTURE.md has no such section")
	}
	for line := range strings.Lines(section) {
		folder := ""
		for _, name := range regexp.MustCompile(`[\w/]+\.go`).FindAllString(line, -1) {
			folder = cmp.Or(strings.TrimSuffix(path.Dir(name), "."), folder)
			files = append(files, path.Join(folder, path.Base(name)))
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}
