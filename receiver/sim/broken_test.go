package sim

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ticketrail/receiver/contract"
)

func TestEveryBrokenIntegratorFailsWithASentenceThatNamesItsFault(t *testing.T) {
	contains := func(text string) func(contract.PrintRequest) bool {
		return func(p contract.PrintRequest) bool { return bytes.Contains(p.Raw, []byte(text)) }
	}
	for name, c := range map[string]struct {
		says   string // a part of a result that failed: name, want and got
		change func(*kitchen)
	}{
		// Its answers.
		"a missing venue is 400": {"no x-svc-venueid: want 401 or 403, got 400", func(k *kitchen) { k.noVenue = 400 }},
		"a missing venue is fine": {"no x-svc-venueid: want 401 or 403, got 200",
			func(k *kitchen) { k.noVenue, k.unknown = 200, 200 }},
		"every venue is fine": {"of an unknown venue: want 403, got 200", func(k *kitchen) { k.unknown = 200 }},
		"a missing device is fine": {"no x-svc-device-id: want 401 or 403, got 200",
			func(k *kitchen) { k.noDevice = 200 }},
		"broken JSON is fine":    {"half a body: want 400, got 200", func(k *kitchen) { k.notJSON = 200 }},
		"a schema fault is fine": {"no records[0].id: want 400, got 200", func(k *kitchen) { k.mismatch = 200 }},
		"GET is fine": {"GET instead of POST: want not 2xx, got 200",
			before(200, func(r *http.Request) bool { return r.Method == "GET" })},
		"it needs a Content-Length": {"without a Content-Length: want 200 or 202, not as a duplicate, got 411",
			before(411, func(r *http.Request) bool { return r.ContentLength < 0 })},
		"no parameters on the type": {
			"Content-Type has parameters: want 200 or 202, not as a duplicate, got 400",
			before(400, func(r *http.Request) bool {
				return strings.Contains(r.Header.Get("Content-Type"), ";")
			}),
		},
		"one venue only": {"an order of venue " + venueB + ": want 200 or 202, not as a duplicate, got 403",
			before(403, func(r *http.Request) bool { return r.Header.Get(contract.HeaderVenue) == venueB })},
		"unknown fields are refused": {"unknown fields: want 200 or 202, not as a duplicate, got 400",
			refuses(400, contains(`"moon"`))},
		"a retryCount is refused": {"a higher retryCount",
			refuses(400, func(p contract.PrintRequest) bool { return retry(p) > "0" })},
		"null is no list": {"childItems that are null: want 200 or 202, not as a duplicate, got 400",
			refuses(400, contains(`"childItems":null`))},
		"an empty order is an error": {"a record without an item: want 200 or 202, not as a duplicate, got 400",
			refuses(400, contains(`"items":[]`))},
		"one record only": {"two records: want 200 or 202, not as a duplicate, got 400",
			refuses(400, func(p contract.PrintRequest) bool { return len(p.Records) > 1 })},
		"keys in any case": {"keys that differ only in case: want 200 or 202, not as a duplicate, got 400",
			refuses(400, contains(`"QUANTITY":"each"`))},
		"large orders are refused": {"a large party: 200 items: want 200 or 202, not as a duplicate, got 400",
			refuses(400, func(p contract.PrintRequest) bool { return len(p.Raw) > 10_000 })},
		"a void crashes it": {"the void 500", refuses(500, contains(`"isVoid":true`))},
		"done is 201": {"an order: want 200 or 202, not as a duplicate, got 201",
			func(k *kitchen) { k.done = 201 }},
		"a duplicate is 409": {"new only once, if the answers say, got 200, duplicate: false; 409",
			func(k *kitchen) { k.duplicate = 409 }},
		"busy is 429": {"the status: want only 200, 202, 400, 401, 403, 500, 502, 503, 504, got also 429",
			busy},
		"an abandoned order is locked": {"retries after hanging up before the answer", locked},
		"it takes six seconds": {"an order: want 200 or 202, not as a duplicate, got no answer within 5s",
			slowly(6*time.Second, 0)},
		"it gets slow": {"; the check ended there", slowly(6*time.Second, 200)},
		"one order at a time": {"late, first at: a burst of 60 orders, 64 at a time; the check ended there",
			oneAtATime},
		"it hangs up": {"an order: ", func(k *kitchen) {
			k.before = func(*http.Request) int { panic(http.ErrAbortHandler) }
		}},

		// Its wrong duplicates. Its answers do not show them.
		"no dedup": {"does not come out twice",
			quietly(func(k *kitchen) { k.key = func(contract.PrintRequest) string { return "" } })},
		"it prints retries": {
			`of "retries: a higher retryCount, another timestamp": #`,
			quietly(func(k *kitchen) { k.key = func(p contract.PrintRequest) string { return p.ID + retry(p) } }),
		},
		"two at once are both new": {"; 5 of \"the same request eight times at once\": #",
			quietly(func(k *kitchen) { k.sees = 50 * time.Millisecond })},
		"dedup by order number": {"of \"the same dishes and number under another id\": #", quietly(func(k *kitchen) {
			k.key = func(p contract.PrintRequest) string { return p.Records[0].Fields.Get(fieldNumber).Text() }
		})},
		"dedup by content": {"of \"the same dishes and number under another id\": #", quietly(func(k *kitchen) {
			k.key = func(p contract.PrintRequest) string { return p.Records[0].Fields.Get(fieldItems).JSON() }
		})},
		"dedup by two bytes": {"every order that was accepted: want comes out, got",
			quietly(func(k *kitchen) { k.key = func(p contract.PrintRequest) string { return p.ID[:2] } })},
		"it forgets over a restart": {
			"of \"an order\": #",
			quietly(func(k *kitchen) {
				k.key = func(p contract.PrintRequest) string { return fmt.Sprint(k.life.Load(), p.ID) }
			}),
		},
		"refused ids are stored": {"1 of \"an order after it was refused for its venue\": #",
			quietly(func(k *kitchen) { k.storesFirst = true })},
		"it prints what it refuses": {"refused: want never come out, got", func(k *kitchen) {
			k.unknown = 200
			k.opened = func(r *http.Request, p contract.PrintRequest) int {
				if r.Header.Get(contract.HeaderVenue) == venueA || r.Header.Get(contract.HeaderVenue) == venueB {
					return 0
				}
				k.print(p)
				return 403
			}
		}},

		// Its losses.
		"it waits for the printer": {"5 late, first at: 50 orders while the printer is off",
			func(k *kitchen) { k.waits = true }},
		"it drops when the printer fails": {"; 50 of \"50 orders while the printer is off for 10s\": #",
			func(k *kitchen) { k.unreached = func() { k.queue = nil } }},
		"it drops when more than 20 wait": {"; 30 of \"50 orders while the printer is off for 10s\": #", keeps(20)},
		"it answers before it stores": {"of \"orders while it is killed\": #",
			func(k *kitchen) { k.stores = 200 * time.Millisecond }},
		"it loses the last of a burst": {"of \"a burst of 300 orders, 64 at a time\": #", func(k *kitchen) {
			k.store = inBurst(k, func(p contract.PrintRequest, n int) int { return min(1, max(0, 290-n)) })
		}},
		"it doubles in a burst": {
			"of \"a burst of 300 orders, 64 at a time\": #",
			func(k *kitchen) {
				k.store = inBurst(k, func(p contract.PrintRequest, n int) int { return 1 + n%2 })
			},
		},
		"it ignores the second record": {"1 of \"two records\": #", func(k *kitchen) { k.slip.firstRecord = true }},
		"it merges records": {"the order's number: want on each of its slips, got 1 of",
			func(k *kitchen) { k.slip.merges, k.split = true, false }},
		"it prints under the wrong number": {"the order's number: want on each of its slips, got",
			func(k *kitchen) { k.slip.wrongNumber = true }},

		// Its wrong writing.
		"it cuts over 100 items": {"200 of \"a large party: 200 items\": #",
			func(k *kitchen) { k.slip.items = 100 }},
		"over 100 items are too big": {`the paper says "KITCHEN / `, func(k *kitchen) { k.slip.tooBig = 100 }},
		"? for what is not Latin": {"names in four scripts: want in their letters, or drawn, got 4 of 4 not; ",
			func(k *kitchen) { k.slip.latin = true }},
		"one picture for all scripts": {"the picture is that of #", samePicture},
		"voids come out as orders": {"every void: want unlike an order, got 4 of 4 not; ",
			func(k *kitchen) { k.slip.voidWord = "" }},
		"voids never come out": {"of \"orders in four scripts, and a void of each\": #",
			func(k *kitchen) { k.slip.noVoids = true }},
		"modifiers without a quantity": {"1 of \"modifiers with a quantity and a note\": #",
			func(k *kitchen) { k.slip.oneBelow = true }},
		"modifiers without a note": {"every note: want with its item, got 1 of",
			func(k *kitchen) { k.slip.noNotesBelow = true }},
		"the quantity is always 1": {`every quantity: want with its name, got`, func(k *kitchen) { k.slip.one = true }},
		"no quantity": {`every quantity: want with its name, got`,
			func(k *kitchen) { k.slip.noQuantity = true }},
		"each item twice on a slip": {"does not come out twice", func(k *kitchen) { k.slip.twice = true }},
		"it cuts names": {"every name: want on the slip of its order, got 1 of",
			func(k *kitchen) { k.slip.cut = 40 }},
		"it drops notes":        {"every note: want with its item, got", func(k *kitchen) { k.slip.noNotes = true }},
		"it ignores childItems": {`looked for "No onion`, func(k *kitchen) { k.slip.noChildren = true }},
		"two levels only":       {`looked for "Vinaigrette`, func(k *kitchen) { k.slip.depth = 1 }},
		"children before their item": {"every modifier: want under its item, got",
			func(k *kitchen) { k.slip.childrenFirst = true }},
		"the first of two keys wins": {"1 of \"keys that differ only in case\": #",
			func(k *kitchen) { k.slip.firstWins = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged(t, c.change, func(t *testing.T, results []Result) {
				var failed []string
				for _, r := range results {
					if r.Verdict == Fail {
						failed = append(failed, fmt.Sprintf("%s: want %s, got %s", r.Name, r.Want, r.Got))
					}
				}
				if !slices.ContainsFunc(failed, func(f string) bool { return strings.Contains(f, c.says) }) {
					t.Errorf("nothing says %q; failed:\n%s", c.says, strings.Join(failed, "\n"))
				}
			})
		})
	}
}

// quietly leaves duplicates out of the answers, so that only the paper shows them.
func quietly(change func(*kitchen)) func(*kitchen) {
	return func(k *kitchen) { k.silent = true; change(k) }
}

func before(status int, which func(*http.Request) bool) func(*kitchen) {
	return func(k *kitchen) {
		k.before = func(r *http.Request) int {
			if which(r) {
				return status
			}
			return 0
		}
	}
}

// refuses has an endpoint answer correct requests with a status.
func refuses(status int, which func(contract.PrintRequest) bool) func(*kitchen) {
	return func(k *kitchen) {
		k.opened = func(_ *http.Request, p contract.PrintRequest) int {
			if which(p) {
				return status
			}
			return 0
		}
	}
}

// keeps drops orders that do not fit into its queue.
func keeps(most int) func(*kitchen) {
	return func(k *kitchen) {
		k.store = func(p contract.PrintRequest) {
			if len(k.queue) < most {
				k.queue = append(k.queue, p)
			}
		}
	}
}

// inBurst prints the nth order of the burst so many times.
func inBurst(k *kitchen, times func(p contract.PrintRequest, n int) int) func(contract.PrintRequest) {
	k.burst = 300
	voids, n := 0, 0
	return func(p contract.PrintRequest) {
		copies := 1
		if bytes.Contains(p.Raw, []byte(`"isVoid":true`)) {
			voids++
		} else if voids == 4 {
			n++
			copies = times(p, n)
		}
		k.queue = append(k.queue, slices.Repeat([]contract.PrintRequest{p}, copies)...)
	}
}

// samePicture draws a box for each letter of another script.
func samePicture(k *kitchen) {
	k.slip.draws = true
	k.store = func(p contract.PrintRequest) {
		k.queue = append(k.queue, p)
		if !k.off {
			k.work()
			for i := range k.slips {
				if k.slips[i].Pictures != "" {
					k.slips[i].Pictures = "▯▯▯"
				}
			}
		}
	}
}

// slowly takes some time for each order after the first ones.
func slowly(takes time.Duration, first int32) func(*kitchen) {
	return func(k *kitchen) {
		var n atomic.Int32
		k.opened = func(*http.Request, contract.PrintRequest) int {
			if n.Add(1) > first {
				time.Sleep(takes)
			}
			return 0
		}
	}
}

// oneAtATime uses a channel, because a mutex does not count as durably blocked: it would stop the bubble's clock.
func oneAtATime(k *kitchen) {
	one := make(chan struct{}, 1)
	k.opened = func(*http.Request, contract.PrintRequest) int {
		one <- struct{}{}
		time.Sleep(150 * time.Millisecond)
		<-one
		return 0
	}
}

// busy answers 429 under load.
func busy(k *kitchen) {
	var n atomic.Int32
	refuses(http.StatusTooManyRequests, func(contract.PrintRequest) bool { return n.Add(1) > 70 })(k)
}

// locked never accepts an order whose first sender hung up.
func locked(k *kitchen) {
	var mu sync.Mutex
	working := map[string]bool{}
	k.opened = func(r *http.Request, p contract.PrintRequest) int {
		mu.Lock()
		defer mu.Unlock()
		if working[p.ID] {
			return 503
		}
		working[p.ID] = true
		mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		mu.Lock()
		if r.Context().Err() == nil {
			delete(working, p.ID)
		}
		return 0
	}
}

func retry(p contract.PrintRequest) string { return p.Records[0].Fields.Get("retryCount").Text() }
