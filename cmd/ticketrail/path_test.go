package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer"
)

// mostFiles is how many files an order may enter on its way from HTTP to paper, beside the files of an idle daemon.
const mostFiles = 50

func TestAnOrderEntersFewFilesAndOnlyThoseThatArchitectureLists(t *testing.T) {
	slow.Test(t, "go")
	t.Parallel()
	program := filepath.Join(t.TempDir(), "ticketrail")
	// The printers of this test are not part of the daemon, so they count nothing.
	if out, err := exec.Command("go", "build", "-cover", "-coverpkg=ticketrail/...", "-o", program,
		".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// One daemon is idle for as long as the others print, so a file that a daemon enters by its clock is not the
	// order's. Nor is a file that it enters to learn what its printer can do: on a busy machine the probe at the start
	// may have got no answer, and the next one would come after minutes.
	idle := startCounted(t, program)
	must(t, eventually(idle.probed))
	order := func() map[string]bool {
		k := startCounted(t, program)
		k.accept(newOrder("K-path-1-0000", "grill"))
		if err := eventually(func() error {
			if k.printedBy("grill")["K-path-1-0000"].whole == 0 {
				return os.ErrNotExist
			}
			return nil
		}); err != nil {
			t.Error("the order is not on paper")
		}
		k.stop()
		return k.executed()
	}
	blocks := order()
	both := func(next map[string]bool) {
		maps.DeleteFunc(blocks, func(block string, _ bool) bool { return !next[block] })
	}
	both(order())
	both(order())
	idle.stop()
	beside := idle.executed()
	maps.DeleteFunc(blocks, func(block string, _ bool) bool { return beside[block] })

	// A file that only some of the orders enter is not on their path: a stop may come while a printer is asked for its
	// status, on a busy machine mostly. The files that each order enters are found however many there are.
	listed := pathOfAnOrder(t)
	entered := filesOf(blocks)
	unlisted := func(file string) bool { return !slices.Contains(listed, file) }
	for n := 3; n < 10 && slices.ContainsFunc(entered, unlisted); n++ {
		both(order())
		entered = filesOf(blocks)
	}

	t.Logf("%d files:\n%s", len(entered), strings.Join(entered, "\n"))
	assert.True(t, len(entered) <= mostFiles && len(entered) >= 20, "an order enters", len(entered), mostFiles)
	for block := range blocks {
		file := filesOf(map[string]bool{block: true})[0]
		assert.True(t, !unlisted(file), "ARCHITECTURE.md does not list the file of", block)
	}
}

// filesOf are the files of blocks, in their order.
func filesOf(blocks map[string]bool) (files []string) {
	for block := range blocks {
		file, _, _ := strings.Cut(strings.TrimPrefix(block, "ticketrail/"), ":")
		files = append(files, file)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// A counted daemon counts which blocks of statements it executes.
type counted struct {
	*daemonProcess
	counters string // folder
}

func startCounted(t *testing.T, program string) *counted {
	t.Helper()
	k := &counted{newDaemon(t, "", "grill"), t.TempDir()}
	k.program, k.env = program, []string{"GOCOVERDIR=" + k.counters}
	k.start()
	return k
}

// probed is an error if the printer did not answer.
func (k *counted) probed() error {
	device, err := k.control().Probe(k.t.Context(), "grill")
	if err == nil && device.State != printer.Ready {
		err = fmt.Errorf("the printer is %s", device.State)
	}
	return err
}

// executed is the blocks of statements that a stopped daemon has executed.
func (k *counted) executed() map[string]bool {
	k.t.Helper()
	profile := filepath.Join(k.t.TempDir(), "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", k.counters, "-o", profile).
		CombinedOutput(); err != nil {
		k.t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(profile)
	must(k.t, err)
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
	must(t, err)
	_, section, begins := strings.Cut(string(b), "\n## An order, from the request to the paper\n")
	section, _, ends := strings.Cut(section, "\n## ")
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
