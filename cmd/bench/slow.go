package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"time"
)

// slowDisk is row 7: the daemon on a disk on which a commit takes 100 ms, while a printer
// drains a line. strace makes the disk slow, without touching the program: a commit syncs
// twice, and each sync takes 50 ms longer.
func (b *bench) slowDisk(ctx context.Context) (finding, error) {
	const rate = 200
	strace, err := exec.LookPath("strace")
	if err != nil {
		return finding{}, &notMeasured{"it needs strace, which makes each sync slow"}
	}
	under := []string{strace, "-D", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_exit=50000"}
	if out, err := exec.CommandContext(ctx, under[0], append(append([]string{}, under[1:]...), "true")...).CombinedOutput(); err != nil {
		return finding{}, &notMeasured{fmt.Sprintf("strace cannot trace here: %v: %.200s", err, out)}
	}
	printer, err := newWire(false)
	if err != nil {
		return finding{}, err
	}
	defer printer.close()
	path := b.path("row7.db")
	d, err := b.daemon(ctx, daemonOptions{store: path, printer: printer, under: under, within: time.Minute})
	if err != nil {
		return finding{}, err
	}
	l, err := order()
	if err != nil {
		return finding{}, errors.Join(err, d.stop())
	}
	ack, c, err := b.paced(ctx, d, l, rate, pick(b, 20*time.Second, 6*time.Second))
	if err := errors.Join(err, d.stop(), removeStore(path)); err != nil {
		return finding{}, err
	}
	each := 1000 * c.seconds / c.n
	f := finding{
		Measured: fmt.Sprintf("ack p99 %s, p50 %s, slowest %s of %d; the daemon counted %v, while it printed too",
			ms(ack.p99()), ms(ack.p50()), ms(ack.quantile(1)), len(ack), c),
		Values: map[string]float64{"ack_p50": millis(ack.p50()), "ack_p99": millis(ack.p99()), "commit_mean": each},
		Hit:    ack.p99() <= 250*time.Millisecond,
	}
	if each < 95 {
		return finding{}, &notMeasured{fmt.Sprintf("a commit took only %.1f ms although strace was to make it slow", each)}
	}
	return f, nil
}

// paced posts to a daemon at a fixed rate, and tells what its commits were like meanwhile.
func (b *bench) paced(ctx context.Context, d *daemon, l letter, rate int, lasts time.Duration) (ack samples, c commits, err error) {
	cr, err := gather(ctx, d.webhook, 128)
	if err != nil {
		return nil, c, err
	}
	before, _, err := d.scrape()
	if err == nil {
		var p paced
		p, err = b.pace(ctx, cr, []letter{l}, rate, lasts)
		ack = p.took
	}
	after, _, err2 := d.scrape()
	return ack, after.since(before), errors.Join(err, err2, cr.close())
}

// A wire is a network printer that takes everything and says when a ticket began and ended.
type wire struct {
	addr    string
	answers bool // when it is asked how it is: all is well
	l       net.Listener
	tickets chan arrival // when somebody listens
}

// An arrival is when the first byte of a ticket came and when its connection was over.
type arrival struct{ first, last time.Time }

func newWire(answers bool) (*wire, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wire{addr: l.Addr().String(), answers: answers, l: l, tickets: make(chan arrival, 1)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.take(c)
		}
	}()
	return w, nil
}

func (w *wire) take(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for w.answers && w.question(c, in) {
	}
	if _, err := in.ReadByte(); err != nil {
		return // nothing was printed
	}
	a := arrival{first: time.Now()}
	_, _ = io.Copy(io.Discard, in)
	a.last = time.Now()
	select {
	case w.tickets <- a:
	default:
	}
}

// question answers a DLE EOT, if that is what comes next.
func (w *wire) question(c net.Conn, in *bufio.Reader) bool {
	if b, err := in.Peek(1); err != nil || b[0] != 0x10 {
		return false
	}
	if _, err := in.Discard(3); err != nil {
		return false
	}
	_, err := c.Write([]byte{0x12}) // the bits that are always set
	return err == nil
}

func (w *wire) close() { w.l.Close() }
