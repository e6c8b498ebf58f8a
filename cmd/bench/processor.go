package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A load is who used the processors during a row. When others did, the slowest samples are
// theirs as much as ours.
type load struct {
	Own    float64 `json:"own_cores"`    // this program and what it started and has ended
	Others float64 `json:"others_cores"` // the rest of the machine, its kernel threads included
	Stolen float64 `json:"stolen_cores"` // what the hypervisor gave to other machines
}

func (l load) String() string {
	return fmt.Sprintf("%.2f cores used by this, %.2f by the rest of the machine, %.2f stolen by its host", l.Own, l.Others, l.Stolen)
}

// processor is the processor time used since some fixed moment.
type processor struct {
	at                time.Time
	own, busy, stolen time.Duration
}

func readProcessor() processor {
	p := processor{at: time.Now()}
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) == nil {
			p.own += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return p
	}
	line, _, _ := strings.Cut(string(b), "\n")
	for i, f := range strings.Fields(line) { // cpu user nice system idle iowait irq softirq steal …
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			continue
		}
		d := time.Duration(n) * time.Second / 100 // the kernel's unit for everybody, whatever its own is
		switch i {
		case 1, 2, 3, 6, 7:
			p.busy += d
		case 8:
			p.stolen += d
		}
	}
	return p
}

func (p processor) since(q processor) load {
	s := p.at.Sub(q.at).Seconds()
	own := (p.own - q.own).Seconds() / s
	return load{Own: own, Others: max(0, (p.busy-q.busy).Seconds()/s-own), Stolen: (p.stolen - q.stolen).Seconds() / s}
}
