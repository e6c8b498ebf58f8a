package receiver

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/deploy/assert"
)

func TestABodyThatNeedsMuchMemoryIsParsedAndStoredAlone(t *testing.T) {
	bubble(t, nil, func(t *testing.T, b *testbed, l *pipeListener) {
		b.intake.acceptAfter(time.Second)
		start := time.Now()
		var large, small []*rawConn // and bodies of usual size do not wait for them
		for i := range 3 {
			large, small = append(large, l.dial(t)), append(small, l.dial(t))
			large[i].send(requestWith(requestOfItems(fmt.Sprint("large ", i), 10_000)))
			synctest.Wait()
			small[i].send(requestWith(requestOfItems(fmt.Sprint("small ", i), 1000)))
			synctest.Wait()
		}
		for i := range 3 {
			small[i].want(200, "")
			wantElapsed(t, start, time.Second)
		}
		for i := range 3 {
			large[i].want(200, "")
			wantElapsed(t, start, time.Duration(i+1)*time.Second)
		}
	})
}

func TestABodyThatBreaksALimitOfOursPrintsAsText(t *testing.T) {
	deeper := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for body, why := range map[string]string{
		`{"records":[{"id":"a","retryCount":0,"items":[` + strings.Repeat(`{"childItems":[`, 64) +
			`{"name":"Egg"}` + strings.Repeat(`]}`, 64) + `]}],"serverRequestTimestamp":"1"}`: "nested deeper than 64",
		requestOfItems("a", 10_001):                   "more than 10000 items",
		`{"records":[{"id":"a","x":` + deeper + `}]}`: "nested",
		`{"x":` + deeper + `}`:                        "nested",
	} {
		b := newTestbed(t, nil)
		again := strings.NewReplacer(`"retryCount":0`, `"retryCount":1`, `Timestamp":"1"`, `Timestamp":"2"`)
		for i, body := range []string{body, again.Replace(body)} {
			w := b.do(post([]byte(body)))
			if w.Code != 200 || strings.Contains(w.Body.String(), `"duplicate":true`) != (i == 1) {
				t.Fatalf("%.60s: sending %d: %d %s", body, i, w.Code, w.Body)
			}
		}

		d := b.intake.requests()[0].Drafts[0]
		sent := strings.Replace(body, `"retryCount":0,`, "", 1)
		heads := strings.Join(d.Ticket.Heads(), " ")
		assert.True(t, strings.Contains(heads, why) && d.Station == "grill" && len(d.Ticket.Raw) <= 8100 &&
			strings.Contains(sent, d.Ticket.Raw[:100]), body, heads, d.Station, d.Ticket.Raw)
		kept := b.rejected()
		assert.Equal(t, (len(kept) == 1), (len(body) > 8000), body, len(kept), len(body))
	}
}

func TestOrdersBehindALimitOfTheParserAreStoredAndKeptOneByOne(t *testing.T) {
	for _, ahead := range []string{
		`"_trace":[` + strings.Repeat("0,", 300_000) + `0]`,
		`"retryCount":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
	} {
		b := newTestbed(t, nil)
		for i, c := range []struct{ order, duplicate string }{
			{"first", "false"}, {"second", "false"}, {"first", "true"},
		} {
			body := `{` + ahead + `,"records":[{"id":"` + c.order + `","items":[]}]}`
			w := b.do(post([]byte(body)))
			answer := w.Body.String()
			assert.True(t, w.Code == 200 && strings.Contains(answer, `"duplicate":`+c.duplicate), ahead[:12], i, answer)
		}

		stored, kept := b.intake.requests(), b.rejected()
		if len(stored) != 2 || len(kept) != 2 {
			t.Fatalf("%.12s: %d are stored and %d kept", ahead, len(stored), len(kept))
		}
		for i, order := range []string{"first", "second"} {
			raw := stored[i].Drafts[0].Ticket.Raw
			assert.True(t, strings.HasPrefix(raw, "{"+ahead[:100]) && strings.HasSuffix(raw, "bytes more"), raw)
			assert.True(t, strings.Contains(string(kept[i].Body), order) && kept[i].Code == "over_limit", kept[i].Code)
		}
	}
}

// requestOfItems is a request of n items that are as small as they can be.
func requestOfItems(id string, n int) string {
	return fmt.Sprintf(`{"records":[{"id":%q,"items":[%s{}]}]}`, id, strings.Repeat("{},", n-1))
}
