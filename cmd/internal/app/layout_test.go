package app_test

import (
	"strings"
	"testing"
	"time"

	"ticketrail/config"
)

func TestTicketsHaveTheConfiguredLayout(t *testing.T) {
	setup := func(k *testDaemon) {
		p := k.Printer("grill")
		p.Copies, p.Override = 2, config.Override{"columns": 32, "feed_before_cut": 7}
		p.Layout.UpperCase, p.Layout.Header = true, []string{"number"}
		p.Layout.TemplateFile, p.Layout.Template = "foot.tmpl", `{{define "footer"}}{{center "thank you"}}{{end}}`
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		k.Accept("A1", at("grill", "Burger"))
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A1 A1")
		for i, ticket := range k.Printers["grill"].Tickets() {
			for _, want := range []string{"COPY " + string(rune('1'+i)) + "/2", "BURGER", "thank you",
				strings.Repeat("=", 32)} {
				if !strings.Contains(ticket.Text, want) {
					k.T.Errorf("copy %d lacks %q:\n%s", i+1, want, ticket.Text)
				}
			}
			if strings.Contains(ticket.Text, "Harbour") || strings.Contains(ticket.Text, strings.Repeat("=", 33)) ||
				ticket.Feed < 7 {
				k.T.Errorf("copy %d shows too much, or too wide, or feeds %d lines only:\n%s", i+1, ticket.Feed,
					ticket.Text)
			}
		}
	}, "grill")
}

func TestATemplateThatFailsIsToldAndTheTicketPrints(t *testing.T) {
	setup := func(k *testDaemon) {
		l := &k.Printer("grill").Layout
		l.TemplateFile, l.Template = "head.tmpl",
			`{{define "header"}}{{if eq .Number "#A2"}}{{slice .Number 5 9}}{{else}}this is {{.Number}}{{end}}{{end}}`
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		for _, n := range []string{"A1", "A2", "A3"} {
			k.Accept(n, at("grill", "Burger"))
		}
		k.Advance(time.Minute)
		tickets := k.Printers["grill"].Tickets()
		if len(tickets) != 3 || !strings.Contains(tickets[0].Text, "this is #A1") ||
			!strings.Contains(tickets[1].Text, "#A2") || strings.Contains(tickets[1].Text, "this is") ||
			!strings.Contains(tickets[2].Text, "this is #A3") {
			k.T.Errorf("%d tickets, want the second one with the built-in head", len(tickets))
		}
		if s := strings.Join(k.App.Notices(), "\n"); !strings.Contains(s, "the template of grill fails") ||
			!strings.Contains(s, "head.tmpl") {
			k.T.Errorf("the notices are %q", s)
		}
		k.reload(func(c *config.Config) { c.Printers[0].Layout.TemplateFile, c.Printers[0].Layout.Template = "", "" })
		if s := k.App.Notices(); len(s) > 0 {
			k.T.Errorf("repaired, the notices are %q", s)
		}
	}, "grill")
}
