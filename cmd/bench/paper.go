package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"ticketrail/printer/profile"
	"ticketrail/printer/virtual"
)

// modePrint makes this program many printers. They are a process of their own so that it can
// be told what they cost: in a kitchen that is not the daemon's box.
const modePrint = "print-for-bench"

// model is what all of them are: printers that answer everything.
const model = "epson-tm-t88"

// beFifty serves n printers on loopback until its input ends. It writes their addresses on a
// line, and at the end another with what came out.
func beFifty(ctx context.Context, count string) int {
	err := func() error {
		n, err := strconv.Atoi(count)
		if err != nil {
			return err
		}
		p, ok := profile.Lookup(model)
		if !ok {
			return fmt.Errorf("no profile %s", model)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var serving sync.WaitGroup
		var all []*virtual.Printer
		var addrs []string
		for range n {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			o := virtual.Like(p)
			o.Keep, o.Remembers = 1, true
			v := virtual.New(o)
			serving.Go(func() { _ = v.Serve(ctx, l) })
			all, addrs = append(all, v), append(addrs, l.Addr().String())
		}
		fmt.Println(strings.Join(addrs, " "))
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
		serving.Wait()
		var out []paper
		for _, v := range all {
			out = append(out, paper{v.Out(), v.Problems()})
		}
		return json.NewEncoder(os.Stdout).Encode(out)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "printers:", err)
		return 1
	}
	return 0
}

// paper is what came out of a printer.
type paper struct {
	Tickets  int
	Problems []string
}

// printers is the process of them.
type printers struct {
	cmd   *exec.Cmd
	in    io.Closer
	out   *bufio.Reader
	addrs []string
}

func startPrinters(n int) (*printers, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &printers{cmd: exec.Command(exe, modePrint, strconv.Itoa(n))}
	p.cmd.Stderr, p.cmd.Env = os.Stderr, plainEnvironment()
	// Ctrl-C is for this process: it ends the printers when the daemon is done with them.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err1 := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	line, err := p.out.ReadString('\n')
	if p.addrs = strings.Fields(line); err != nil || len(p.addrs) != n {
		_, err2 := p.stop()
		return nil, errors.Join(fmt.Errorf("%d printers said %q: %w", n, line, err), err2)
	}
	return p, nil
}

// stop ends them and returns what each has printed.
func (p *printers) stop() (out []paper, err error) {
	late := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	err = p.in.Close()
	err = errors.Join(err, json.NewDecoder(p.out).Decode(&out), p.cmd.Wait())
	return out, err
}

// used is the processor time that they have taken.
func (p *printers) used() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	// After the name in brackets: state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime.
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	var ticks int
	for _, f := range fields[min(11, len(fields)):min(13, len(fields))] {
		n, _ := strconv.Atoi(f)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}
