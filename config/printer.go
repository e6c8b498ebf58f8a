package config

import "time"

// Printer is a station: one line of tickets, one printer at its end.
type Printer struct {
	// Name is the station's name, as in routes, listings and metrics: letters, digits,
	// spaces and . _ - up to 64. Required, unique in any case over printers, screens and kds. Tickets that wait under a
	// name that is taken out of the file are kept, held, until they are moved.
	Name string `mapstructure:"name"`
	// Address is where it is. Required.
	//	tcp://192.168.1.50:9100            on the network; 9100 is the port when none is said
	//	usb://04b8:0e28                    on USB, by its ids as lsusb shows them
	//	usb://04b8:0e28?serial=X3BX012345  the one of several with that serial number
	//	usb://                             the only one on USB
	//	serial:///dev/ttyUSB0?baud=19200   on a serial line; bits, parity, stop, flow if need be
	//	file:///dev/usb/lp0                a device, or a plain file that is appended to
	// A USB printer that is unplugged may come back under another number: usb:// and the
	// names under /dev/serial/by-id stay. Printers with one address are one device: their
	// lines take turns, and Confirm, Linger, PollEvery and WaitForPerson must be the same.
	Address string `mapstructure:"address"`
	// Profile is the model. Default generic-80mm; ticketrail printers profiles lists them.
	Profile string `mapstructure:"profile"`
	// Override changes single keys of the profile, for a printer that is nearly a model:
	// { cutter: none, buzzer: esc_b }. ticketrail printers profiles NAME shows the keys and
	// what the profile says. Default none.
	Override Override `mapstructure:"override"`
	// Columns is how many characters fit on a line, 16 to 96. Default 0: as the profile
	// says.
	Columns int `mapstructure:"columns"`
	// Confirm is how the printer is asked whether a ticket came out. auto tries what it
	// answers to, and remembers it. process_id and status use these without trying first.
	// none asks nothing, not even for paper: its tickets count as sent. Default: as the
	// profile says.
	Confirm string `mapstructure:"confirm"`
	// ConnectTimeout is how long connecting to the printer may take. Default 10s, 1s to 60s:
	// more for a radio that sleeps.
	ConnectTimeout time.Duration `mapstructure:"connect_timeout"`
	// Linger is how long the connection is kept for a further ticket. Most printers serve one
	// client: a till that prints there too waits that long. Default 1s, 0s (close at once)
	// to 30s.
	Linger time.Duration `mapstructure:"linger"`
	// PollEvery is how often an idle printer is asked how it is, so that paper out is known
	// before the next order. It takes a connection for a moment. Default 5m, 10s to 24h; 0s:
	// never.
	PollEvery time.Duration `mapstructure:"poll_every"`
	// WaitForPerson is how long a ticket that stopped half way, because paper ran out or the
	// cover was opened, is waited for; after that it is in doubt. Default 10m, 1s to 24h.
	WaitForPerson time.Duration `mapstructure:"wait_for_person"`
	// Copies is how many of each ticket come out, each marked COPY 2/2. Default 1, 1 to 9.
	Copies int `mapstructure:"copies"`
	// Buzzer is how tickets are heard, where the profile has a buzzer.
	Buzzer Buzzer `mapstructure:"buzzer"`
	// QR prints the request's id as a QR code at the foot. Default false.
	QR bool `mapstructure:"qr"`
	// Layout is how tickets look.
	Layout Layout `mapstructure:"layout"`
	// ExpireAfter is how old a ticket may be and still print; older ones expire, and a
	// slip lists them. Default 4h, 1m to 720h.
	ExpireAfter time.Duration `mapstructure:"expire_after"`
	// OnDoubt is what happens to a ticket that may have come out already. Default
	// reprint: once more, marked POSSIBLE DUPLICATE, then hold. hold: at once a person's.
	OnDoubt string `mapstructure:"on_doubt"`
	// Backup is the station whose printer stands in after HoldFor: the tickets come out
	// there in order, headed FOR GRILL (printer down). They stay in this line, and when this
	// printer works again they come out here again. A backup may have its own. A line that a
	// person holds waits for that person. It may be a screen too. Default none.
	Backup string `mapstructure:"backup"`
	// HoldFor is how long the head of this line must have failed for that. Default 2m, 10s
	// to 24h.
	HoldFor time.Duration `mapstructure:"hold_for"`
}

// Override is keys of a profile with their values: words, numbers, true and false, lists
// and keys. What they mean is for the profile to say.
type Override map[string]any

// Buzzer is how often it sounds before a ticket, so that void and order can be told apart.
type Buzzer struct {
	// Times is for a ticket with something to make. Default 1, 0 (silent) to 9.
	Times int `mapstructure:"times"`
	// VoidTimes is for one that only cancels. Default 3, 0 (silent) to 9.
	VoidTimes int `mapstructure:"void_times"`
}

// Layout is how tickets look. Banners, voids and the items themselves are not for
// configuration: a void is never taken for an order.
type Layout struct {
	// NameSize is the size of an item's name, width x height, in times the normal size: 1x1
	// to 8x8. Default 2x2. A name that does not fit is printed narrower; models that only
	// double print at most 2x2.
	NameSize Scale `mapstructure:"name_size"`
	// ModifierSize is that of what is below an item, and of notes. Default 1x2.
	ModifierSize Scale `mapstructure:"modifier_size"`
	// Header is what the head of a ticket shows, in this order, as far as the service says it.
	// Default all, the number and the table big:
	// venue, number, table, type, time, server, date, guests, destination, course.
	Header []string `mapstructure:"header"`
	// UpperCase prints names and modifiers in capitals. Default false.
	UpperCase bool `mapstructure:"upper_case"`
	// BlankLines is how many there are between two items. Default 0, 0 to 5.
	BlankLines int `mapstructure:"blank_lines"`
	// TemplateFile is a file with a Go text/template for head and foot, as
	// {{define "header"}}…{{end}} and {{define "footer"}}…{{end}}; either may be left out.
	// Default none: the built-in ones, which also stand in when the template fails.
	TemplateFile string `mapstructure:"template_file"`

	// Template is what is in TemplateFile, read by Load. Not a key.
	Template string `mapstructure:"-"`
}

// HeaderFields is what the head of a ticket can show.
func HeaderFields() []string {
	return []string{"venue", "number", "table", "type", "time", "server", "date", "guests", "destination", "course"}
}

// DefaultPrinter is a printer of which only the name and the address are said.
func DefaultPrinter() Printer {
	return Printer{
		Profile:        "generic-80mm",
		ConnectTimeout: 10 * time.Second,
		Linger:         time.Second,
		PollEvery:      5 * time.Minute,
		WaitForPerson:  10 * time.Minute,
		Copies:         1,
		Buzzer:         Buzzer{Times: 1, VoidTimes: 3},
		Layout:         Layout{NameSize: Scale{2, 2}, ModifierSize: Scale{1, 2}, Header: HeaderFields()},
		ExpireAfter:    4 * time.Hour,
		OnDoubt:        "reprint",
		HoldFor:        2 * time.Minute,
	}
}
