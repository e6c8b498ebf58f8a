package main

import (
	"fmt"
	"io"
	"time"
)

const (
	verdictHit  = "hit"
	verdictMiss = "miss"
	verdictNone = "not measured"
)

// A finding is what a row came to.
type finding struct {
	Measured string             `json:"measured"` // absolute numbers and the ratio, for people
	Values   map[string]float64 `json:"values"`   // the same for programs; durations in milliseconds
	Hit      bool               `json:"-"`
}

func (f finding) verdict() string {
	if f.Hit {
		return verdictHit
	}
	return verdictMiss
}

type result struct {
	Row     int    `json:"row"`
	Measure string `json:"measure"`
	finding
	Limit   string `json:"limit"`
	Verdict string `json:"verdict"`
	Load    load   `json:"load"`
}

func (r report) print(w io.Writer) error {
	p := &printer{w: w}
	m := r.Machine
	p.f("machine     %s, %d cores, %s of memory\n", m.CPU, m.Cores, m.Memory)
	p.f("disk        %s on %s%s\n", m.Filesystem, m.Device, m.Warning)
	p.f("software    %s, %s, %s/%s\n", m.Kernel, m.Go, m.OS, m.Arch)
	p.f("run         %s, took %s\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"), r.Took.Round(time.Second))
	if r.Quick {
		p.f("            QUICK: smaller counts and fewer keys than the measures say; claims nothing\n")
	}
	for _, x := range r.Rows {
		p.f("\n%d  %s\n", x.Row, x.Measure)
		p.f("   measured   %s\n", x.Measured)
		p.f("   must be    %s\n", x.Limit)
		p.f("   meanwhile  %s\n", x.Load)
		p.f("   %s\n", x.Verdict)
	}
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
