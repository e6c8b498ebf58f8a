package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ticketrail/printer/layout"
	"ticketrail/receiver/contract"
)

func TestAQuantileIsASampleAndNeverTooSmall(t *testing.T) {
	var s samples
	for i := 100; i >= 1; i-- { // in no order
		s = append(s, time.Duration(i))
	}
	for p, want := range map[float64]time.Duration{0.01: 1, 0.07: 7, 0.50: 50, 0.99: 99, 0.991: 100, 1: 100} {
		if got := s.quantile(p); got != want {
			t.Errorf("quantile %v of 1 to 100 is %d, want %d", p, got, want)
		}
	}
	if s[0] != 100 {
		t.Error("the samples were put in order in place")
	}
	if got := (samples{5, 9}).p99(); got != 9 {
		t.Errorf("p99 of two samples is %d, want the larger", got)
	}
	if got := (samples{}).p99(); got != 0 {
		t.Errorf("p99 of nothing is %d", got)
	}
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("median is %v, want 5", got)
	}
}

func answer(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

func TestOnlyAStoredNewRequestCounts(t *testing.T) {
	const stored = `{"status":"SUCCESS","duplicate":false,"jobs":1}`
	for name, c := range map[string]struct {
		wire string
		ok   bool
	}{
		"stored":          {answer("200 OK", stored), true},
		"a duplicate":     {answer("200 OK", `{"status":"SUCCESS","duplicate":true,"jobs":0}`), false},
		"refused":         {answer("503 Service Unavailable", `{"status":"ERROR","error":{"code":"too_slow"}}`), false},
		"stored, but 201": {answer("201 Created", stored), false},
		"empty":           {answer("200 OK", ""), false},
		"cut off":         {answer("200 OK", stored)[:110], false},
		"without length":  {"HTTP/1.1 200 OK\r\n\r\n" + stored, false},
		"nothing":         {"", false},
	} {
		if err := readAnswer(bufio.NewReader(strings.NewReader(c.wire))); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	two := bufio.NewReader(strings.NewReader(answer("200 OK", stored) + answer("200 OK", `{"status":"SUCCESS","duplicate":true,"jobs":0}`)))
	if err := readAnswer(two); err != nil {
		t.Error(err)
	}
	if err := readAnswer(two); err == nil {
		t.Error("the second answer on a connection was not read")
	}
}

func TestEveryLetterIsAnOrderOfItsOwn(t *testing.T) {
	_, names := tenStations()
	letters, err := pairOrders(names)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := order()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, l := range append(letters, plain) {
		for _, n := range []uint64{1, 0xabcdef012345} {
			n += uint64(i) << 20
			req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(l.write(nil, n))))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				t.Fatal(err)
			}
			opened, err := contract.Open(body, contract.Strict)
			if err != nil {
				t.Fatal(err)
			}
			if seen[opened.ID] {
				t.Errorf("id %s came twice", opened.ID)
			}
			seen[opened.ID] = true
		}
	}
}

func TestTheYardstickPutsWhatAnAcceptPuts(t *testing.T) {
	b := &bench{dir: t.TempDir(), progress: io.Discard}
	rules, names := tenStations()
	letters, err := pairOrders(names)
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.newYardstick(t.Context(), "test", rules, letters[0])
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	size := 0
	for _, r := range y.records {
		got[r.path[0]]++
		size += len(r.value)
	}
	// Two tickets: everything of a ticket twice, of the request once.
	for bucket, want := range map[string]int{"requests": 1, "reqjobs": 2, "jobs": 2, "state": 2, "waiting": 2, "stations": 2, "dedup": 1} {
		if got[bucket] != want {
			t.Errorf("%d records in %s, want %d", got[bucket], bucket, want)
		}
	}
	if body := len(letters[0].bytes) - letters[0].body; size < body {
		t.Errorf("%d bytes in all, less than the body of %d", size, body)
	}
	if _, err := y.commits(3); err != nil {
		t.Error(err)
	}
	if err := y.close(); err != nil {
		t.Error(err)
	}
}

func TestTheMountOfAFolderIsTheOneThatHoldsIt(t *testing.T) {
	for _, c := range []struct {
		path, mount string
		want        bool
	}{{"/tmp/x", "/", true}, {"/tmp/x", "/tmp", true}, {"/tmp", "/tmp", true}, {"/tmpfs", "/tmp", false}} {
		if got := within(c.path, c.mount); got != c.want {
			t.Errorf("%s within %s: %t", c.path, c.mount, got)
		}
	}
}

func TestTheTwentyLinesAreLettersAndTheScriptsAreDrawn(t *testing.T) {
	b := &bench{quick: true}
	if _, err := b.encoding(t.Context()); err != nil {
		t.Error(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range scripts() {
		l := s.line(r)
		if w := layout.Width(l); w > paperColumns || w < paperColumns-14 {
			t.Errorf("a line of %s takes %d of %d columns: %s", s.name, w, paperColumns, l)
		}
	}
}

func TestTheTallyCountsWhatIsConfirmed(t *testing.T) {
	var y tally
	log := `time=x level=INFO msg="ticket out" station=s01 request=9b2e7c1a-4f0d-4c53-8d8e-0000000000ff job=1 outcome=confirmed wait=5ms
time=x level=INFO msg=ready
time=x level=INFO msg="ticket out" station=s02 request=9b2e7c1a-4f0d-4c53-8d8e-000000000100 job=2 outcome=sent wait=5ms
time=x level=INFO msg="ticket out" station=s01 request=9b2e7c1a-4f0d-4c53-8d8e-0a0000000001 job=3 outcome=confirmed wait=5ms
`
	for _, b := range []byte(log) { // in pieces of any size
		if n, err := y.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	_, one := y.confirmed[0xff]
	_, two := y.confirmed[0x0a0000000001]
	if !one || !two || len(y.confirmed) != 2 || y.others != 1 {
		t.Errorf("%v and %d others", y.confirmed, y.others)
	}
}

func TestAStationIsAsQuickAsWhatItPrintedInTime(t *testing.T) {
	began := time.Now()
	p := paced{began: began, rate: 2, first: 100, took: make(samples, 4)} // two stations, two tickets each
	y := &tally{confirmed: map[uint64]time.Time{}}
	for i := range 4 {
		y.confirmed[100+uint64(i)] = p.due(i).Add(time.Millisecond)
	}
	y.confirmed[103] = p.due(3).Add(time.Minute)
	var s shift
	for range 2 {
		if err := s.count(y, p, 2, 2*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if s.slowest() != 0.5 || s.mean() != 0.75 {
		t.Errorf("the slowest printed %v tickets/s, the mean is %v; want 0.5 and 0.75", s.slowest(), s.mean())
	}
	delete(y.confirmed, 102)
	if err := s.count(y, p, 2, 2*time.Second); err == nil {
		t.Error("a ticket that never came out was not missed")
	}
}

func TestWhatWasSentLateIsLeftOutOnRequestOnly(t *testing.T) {
	p := paced{took: samples{1, 2, 3, 4}, late: []int{0, 2}}
	if got := p.awake(); !slices.Equal(got, samples{2, 4}) {
		t.Errorf("awake %v", got)
	}
	if !slices.Equal(p.took, samples{1, 2, 3, 4}) {
		t.Errorf("all of them %v", p.took)
	}
}
