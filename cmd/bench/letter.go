package main

import (
	"bytes"
	"fmt"
	"strings"

	"ticketrail/receiver/contract"
	"ticketrail/receiver/plan"
)

const (
	venueID   = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11"
	deviceID  = "BW-E-Tablet-01"
	exampleID = "9b2e7c1a-4f0d-4c53-8d8e-0a5f6a3c1b01" // records[0].id of burger.json
	idDigits  = 12                                     // its last group counts
)

// A letter is the bytes of a whole HTTP request in which only the id has to be filled in.
type letter struct {
	bytes []byte
	body  int // where the body begins
	id    int // where the digits of the id begin that count
}

// order is the contract's example of an order: two items with modifiers in modifiers, a
// note, and the layout instructions that the service sends along; 2.7 kB. Each pair of
// changes replaces text in it.
func order(changes ...string) (letter, error) {
	body := []byte(strings.NewReplacer(changes...).Replace(string(contract.Example("burger.json"))))
	if n := bytes.Count(body, []byte(exampleID)); n != 1 {
		return letter{}, fmt.Errorf("the example order has its id %d times, want once", n)
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: kitchen\r\n%s: %s\r\n%s: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
		contract.PathWebhook, contract.HeaderVenue, venueID, contract.HeaderDevice, deviceID, contract.ContentType, len(body))
	return letter{
		bytes: append([]byte(head), body...),
		body:  len(head),
		id:    len(head) + bytes.Index(body, []byte(exampleID)) + len(exampleID) - idDigits,
	}, nil
}

// write appends the request under id to buf.
func (l letter) write(buf []byte, id uint64) []byte {
	at := len(buf)
	buf = append(buf, l.bytes...)
	for i := at + l.id + idDigits - 1; i >= at+l.id; i-- {
		buf[i] = "0123456789abcdef"[id&15]
		id >>= 4
	}
	return buf
}

// twoStations are the rules of most rows. The example order becomes one ticket for grill.
func twoStations() plan.Config {
	return plan.Config{Fallback: "grill", Routes: []plan.Route{
		{When: `item.courseName == "Drinks"`, To: []string{"bar"}},
		{When: `item.courseName in ["Appetizers", "Entrees", "Desserts"]`, To: []string{"grill"}},
	}}
}

// tenStations are the rules of ten stations s0 to s9.
func tenStations() (c plan.Config, names []string) {
	for i := range 10 {
		n := fmt.Sprintf("s%d", i)
		names = append(names, n)
		c.Routes = append(c.Routes, plan.Route{When: fmt.Sprintf("item.courseName == %q", n), To: []string{n}})
	}
	c.Fallback = names[0]
	return c, names
}

// pairOrders are ten orders, each with an item for two of ten stations.
func pairOrders(names []string) ([]letter, error) {
	var all []letter
	for i, n := range names {
		l, err := order(`"Entrees"`, fmt.Sprintf("%q", n), `"Appetizers"`, fmt.Sprintf("%q", names[(i+1)%len(names)]))
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}
