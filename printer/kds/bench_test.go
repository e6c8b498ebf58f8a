package kds_test

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkFirstLook measures what a browser requests until it shows a board of 200 tickets: the
// page and the first state of its stream, alternating with the same for an empty board.
func BenchmarkFirstLook(b *testing.B) {
	w, n := newTestServer(b), 0
	for job := uint64(1); job <= 200; job++ {
		w.put("hot-line", job)
	}
	c := w.client("127.0.0.1")
	look := func(station string) time.Duration {
		n++
		began := time.Now()
		w.get(c, "/screen/"+station)
		e := w.listen(c, station, fmt.Sprintf("page%04d", n), "")
		e.want("state", "hello", "beat")
		took := time.Since(began)
		e.body.Close()
		return took
	}
	var full, empty time.Duration
	for b.Loop() {
		full, empty = full+look("hot-line"), empty+look("cold")
	}
	b.ReportMetric(full.Seconds()/float64(b.N)*1e6, "µs/look")
	b.ReportMetric(full.Seconds()/empty.Seconds(), "full/empty")
}
