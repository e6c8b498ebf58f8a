package receiver

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/deploy/assert"
	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

func TestEverySeriesExistsFromTheStart(t *testing.T) {
	b := newTestbed(t, nil)
	before := strings.Count(b.scrape(t), "\n")
	problems, err := testutil.GatherAndLint(b.reg)
	assert.True(t, err == nil && len(problems) == 0, problems, err)
	for _, row := range rows {
		r := validCase()
		row.wrong(&r)
		req := post([]byte(r.body))
		req.Method, req.URL.Path, req.Header = r.method, r.path, r.header
		b.do(req)
	}
	b.do(post([]byte(`{"records":[{"id":"\u0000","items":[],"retryCount":"x","venueId":1}],"status":1,"count":` +
		`-1,"count":-2,"x":"` + "\xff" + `"}`)))
	b.do(post([]byte(requestOfItems("many", 10_001))))
	assert.Equal(t, strings.Count(b.scrape(t), "\n"), before)
	for _, a := range contract.Anomalies() {
		b.count(t, "ticketrail_receiver_anomalies_total{"+string(a)+"}", 1)
	}
	b.count(t, "ticketrail_receiver_requests_total{404 wrong_path}", 1)
	b.count(t, "ticketrail_receiver_requests_total{200 stored}", 3)
	b.count(t, "ticketrail_receiver_requests_total{400 invalid_json}", 3)
}

func TestAnAnomalyIsLoggedOnceForEachKindAndVenue(t *testing.T) {
	second := "00000000-0000-4000-8000-000000000001"
	b := newTestbed(t, func(_ *Options, p *Policy) {
		p.Venues = append(p.Venues, Venue{Venue: plan.Venue{ID: second}})
	})
	for i := range 5 {
		b.do(post(fmt.Appendf(nil, `{"records":[{"id":"order %d","items":[]}]}`, i)))
	}
	req := post([]byte(`{"records":[{"id":"order 1","items":[]}],"count":"1"}`))
	req.Header.Set(contract.HeaderVenue, second)
	b.do(req)
	assert.Equal(t, strings.Count(b.log.String(), "request differs from the contract"), 3, b.log)
	b.count(t, "ticketrail_receiver_anomalies_total{id_not_uuid}", 6)
}

func TestARouteThatFailsIsCountedForEachItemAndLoggedOnce(t *testing.T) {
	b := newTestbed(t, func(_ *Options, p *Policy) {
		compiled, err := plan.Compile(plan.Config{Fallback: "grill",
			Routes: []plan.Route{{When: `item.name > 1`, To: []string{"bar"}}}})
		assert.NoError(t, err)
		p.Plan, p.OnlyReportConflict = compiled, true
	})
	for i := range 2 {
		b.do(post(fmt.Appendf(nil, `{"records":[{"id":"%d","items":[{"name":"Pie"},{"name":"Ale"}]}]}`, i)))
	}
	b.count(t, "ticketrail_receiver_expression_failures_total", 4)
	log := b.log.String()
	assert.True(t, strings.Count(log, "its route did not match") == 1 && !strings.Contains(log, "Pie"), log)
	assert.True(t, b.intake.requests()[0].OnlyReportConflict, "receiver.conflict: report does not reach the queue")
}

func TestTheLogHasOneLineForEachRequestAndQuotesNoBody(t *testing.T) {
	b := newTestbed(t, nil)
	b.do(post([]byte(burger)))
	b.do(post([]byte(`{"records":[{"id":"x","items":"Cheeseburger"}]}`)))
	b.do(post([]byte(`{"Cheeseburger":Cheeseburger}`)))
	assert.True(t, !strings.Contains(b.log.String(), "burger") && !strings.Contains(b.log.String(), "Jonathan"), b.log)
	want := `level=INFO msg="request accepted" component=receiver request=9b2e7c1a-4f0d-4c53-8d8e-0a5f6a3c1b01 venue=` +
		venueID + ` device=BW-E-Tablet-01 jobs=1 duplicate=false`
	assert.True(t, strings.Count(b.log.String(), want) == 1 && strings.Count(b.log.String(), "level=INFO") == 1, b.log)
}

func TestNeitherASlowJournalNorKeepingARejectDelaysTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		slow   func(*Options, *Policy)
		body   string
		status int
		code   Code
		reason string
	}{
		"journal of an order":  {slowJournal(time.Hour).set, burger, 200, "", "stored"},
		"journal of a refusal": {slowJournal(time.Hour).set, "{}", 400, SchemaMismatch, "schema_mismatch"},
		"rejects of a refusal": {func(o *Options, _ *Policy) { o.Reject = func(Reject) { time.Sleep(time.Hour) } },
			"{}", 400, SchemaMismatch, "schema_mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, c.slow, func(t *testing.T, b *testbed, l *pipeListener) {
				start, conn := time.Now(), l.dial(t)
				conn.send(requestWith(c.body))
				conn.want(c.status, c.code)
				wantElapsed(t, start, 0)
				b.count(t, fmt.Sprintf("ticketrail_receiver_requests_total{%d %s}", c.status, c.reason), 1)
				time.Sleep(2 * time.Hour) // it is written before the bubble ends
			})
		})
	}
}

func TestTheLogLimiterHasAMemoryLimit(t *testing.T) {
	q := newLogLimiter()
	for i := range 3 * maxLimiterKeys {
		q.allow(fmt.Sprint(i), 0, nil)
	}
	assert.True(t, len(q.last) <= maxLimiterKeys, len(q.last))
}

// slowJournal is how long a line takes.
type slowJournal time.Duration

func (d slowJournal) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(d))
	return len(p), nil
}

func (d slowJournal) set(o *Options, _ *Policy) { o.Logger = slog.New(slog.NewTextHandler(d, nil)) }

func TestABodyRefusedForItsContentTypeIsKeptCompleteDespiteASlowJournal(t *testing.T) {
	bubble(t, slowJournal(2*linger).set, func(t *testing.T, b *testbed, l *pipeListener) {
		c := l.dial(t)
		c.send(strings.Replace(requestHead(contentLength(len(burger))), "application/json", "text/plain", 1))
		c.want(400, ContentType)
		c.send(burger)
		c.wantClosed()
		kept := b.rejected()
		assert.True(t, len(kept) == 1 && string(kept[0].Body) == burger && !kept[0].Truncated &&
			kept[0].Venue == venueID && kept[0].Device == device, kept)
	})
}
