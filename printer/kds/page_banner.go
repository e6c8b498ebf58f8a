package kds

import (
	"ticketrail/printer/kds/board"
	"ticketrail/queue/ticket"
)

// banners say in words what is unusual about a card, the most serious first. Where the paper ticket
// says the same, the words are the same. web/cards.js has the same list.
func banners(c *board.Card) (out []bannerView) {
	add := func(is bool, kind, text string) {
		if is {
			out = append(out, bannerView{kind, text})
		}
	}
	add(c.Void, "void", "VOID")
	add(c.Kind == ticket.Correction, "void", "CANCELLED AFTER IT WAS ORDERED")
	add(c.Duplicate, "duplicate", "POSSIBLE DUPLICATE")
	add(c.Reprint, "duplicate", "REPRINT")
	add(c.For != "", "for", insteadOf(c))
	add(c.Paper != "", "duplicate", "PRINTED AT "+c.Paper+" (screen was down)")
	add(c.AddOn, "addon", "ADD-ON to an order already shown")
	add(c.Refire, "refire", "REFIRE")
	add(c.NoRoute, "noroute", "NO ROUTE")
	add(c.Raw != "", "noroute", "UNREADABLE")
	add(c.Kind == ticket.Slip, "slip", "EXPIRED: too old to be sent")
	add(c.Kind == ticket.Test, "slip", "TEST: nothing to cook")
	return out
}

// insteadOf is the banner of a card that belongs to another station.
func insteadOf(c *board.Card) string {
	s := "FOR " + c.For
	if c.Down != "" {
		s += " (" + c.Down + " down)"
	}
	return s
}

// kindTitle is the headline of a ticket that belongs to no order.
func kindTitle(k ticket.Kind) string {
	switch k {
	case ticket.Slip:
		return "Expired"
	case ticket.Test:
		return "Test"
	}
	return ""
}
