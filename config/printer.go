package config

import "time"

// Printer is a station that prints on paper: one queue of tickets and the printer they come out of.
type Printer struct {
	// Name is the station's name in routes, tables and metrics: letters, digits, spaces and . _ -
	// up to 64. Required, unique in any case over printers, screens and kds. Tickets queued under a
	// name that is removed from the file wait, and do not print, until they are moved.
	Name string `mapstructure:"name"`
	// Address is how the printer is reached. Required.
	//
	//	tcp://192.168.1.50:9100            on the network; 9100 is the default port
	//	usb://04b8:0e28                    on USB, by its ids as lsusb shows them
	//	usb://04b8:0e28?serial=X3BX012345  one of several, by its serial number
	//	usb://                             the only one on USB
	//	serial:///dev/ttyUSB0?baud=19200   on a serial port; also bits, parity, stop, flow
	//	file:///dev/usb/lp0                a device, or a plain file that is appended to
	//
	// A USB printer may get another device number when it is plugged in again; usb:// and the names
	// below /dev/serial/by-id stay valid. Printers with the same address are one device: their
	// queues take turns, and Confirm, Linger, PollEvery and WaitForPerson must be the same.
	Address string `mapstructure:"address"`
	// MAC is the hardware address of a network printer, as its self-test page shows it. If DHCP gives the
	// printer another address, it is looked for in the box's own networks, and nothing is sent to another
	// device that has its address now. It needs a printer that no router separates from the box, and no
	// Wi-Fi repeater that hides it behind its own MAC address. Default none: only Address counts.
	MAC MAC `mapstructure:"mac"`
	// Profile is the model. Default generic-80mm; ticketrail printers profiles lists them.
	Profile string `mapstructure:"profile" default:"generic-80mm"`
	// Override changes single keys of the profile, for a printer that differs a little from a known
	// model: { cutter: none, buzzer: esc_b }. ticketrail printers profiles NAME shows the keys and
	// their values. Default none.
	Override Override `mapstructure:"override"`
	// Columns is how many characters fit on a line, 16 to 96. Default 0: the profile's value.
	Columns int `mapstructure:"columns"`
	// Confirm is how the printer is asked whether a ticket came out. auto tries what the printer
	// answers, and remembers it. process_id and status use these without trying first. none asks
	// nothing, not even for paper: its tickets count as sent. Default: the profile's value.
	Confirm string `mapstructure:"confirm"`
	// ConnectTimeout is how long connecting may take. Default 10s, 1s to 60s. Wi-Fi printers that
	// sleep need more.
	ConnectTimeout time.Duration `mapstructure:"connect_timeout" default:"10s" range:"1s 1m"`
	// Linger is how long the connection stays open for a further ticket. Most printers accept one
	// client at a time: a till that also prints there waits that long. Default 1s, 0s (close at
	// once) to 30s.
	Linger time.Duration `mapstructure:"linger" default:"1s" range:"0s 30s"`
	// PollEvery is how often an idle printer is asked for its status, so that paper out is known
	// before the next order. It takes a connection for a moment. Default 5m, 10s to 24h; 0s turns
	// it off.
	PollEvery time.Duration `mapstructure:"poll_every" default:"5m" range:"10s 24h" zero:"allowed"`
	// WaitForPerson is how long a ticket that stopped half way, because paper ran out or the cover
	// was opened, waits for someone to fix it; after that it is in doubt. Default 10m, 1s to 24h.
	WaitForPerson time.Duration `mapstructure:"wait_for_person" default:"10m" range:"1s 24h"`
	// Copies is how many of each ticket print, each marked COPY 2/2. Default 1, 1 to 9.
	Copies int `mapstructure:"copies" default:"1" range:"1 9"`
	// Buzzer is how often tickets sound the buzzer, if the profile has one.
	Buzzer Buzzer `mapstructure:"buzzer"`
	// QR prints the request's id as a QR code in the footer. Default false.
	QR bool `mapstructure:"qr"`
	// Layout is how tickets look.
	Layout Layout `mapstructure:"layout"`
	// ExpireAfter is how old a ticket may be and still print; older ones expire, and a slip lists
	// them. Default 4h, 1m to 720h.
	ExpireAfter time.Duration `mapstructure:"expire_after" default:"4h" range:"1m 720h"`
	// OnDoubt is what happens to a ticket that may have been printed already. Default reprint: it
	// prints once more, marked POSSIBLE DUPLICATE, and is held after that. hold: it is held at
	// once, for a person to decide.
	OnDoubt string `mapstructure:"on_doubt" default:"reprint" oneof:"reprint hold"`
	// Backup is the station that takes over after HoldFor: the tickets come out there in order,
	// headed FOR GRILL (printer down). They stay in this queue, and come out here again when this
	// printer works. A backup may have a backup of its own and may be a screen. A queue that a
	// person holds waits for that person. Default none.
	Backup string `mapstructure:"backup"`
	// HoldFor is how long the first ticket of the queue must have failed until the backup takes
	// over. Default 2m, 10s to 24h.
	HoldFor time.Duration `mapstructure:"hold_for" default:"2m" range:"10s 24h"`
}

// Override is keys of a profile with their values: words, numbers, true and false, lists and nested
// keys. Package profile checks them.
type Override map[string]any

// Buzzer is how often the buzzer sounds before a ticket, so that a cancellation can be told from an
// order by ear.
type Buzzer struct {
	// Times is for a ticket with something to make. Default 1, 0 (silent) to 9.
	Times int `mapstructure:"times" default:"1" range:"0 9"`
	// VoidTimes is for a ticket that only cancels. Default 3, 0 (silent) to 9.
	VoidTimes int `mapstructure:"void_times" default:"3" range:"0 9"`
}

// Layout is how tickets look. Banners, voids and the order of items cannot be configured: a void
// must never look like an order.
type Layout struct {
	// NameSize is the size of item names, width x height, as multiples of the normal size: 1x1 to
	// 8x8. Default 2x2. Long names wrap. If a single word does not fit on a line, all names of the
	// ticket print narrower. Some models print at most 2x2.
	NameSize Scale `mapstructure:"name_size" default:"2x2"`
	// ModifierSize is the size of modifiers, seats and notes. Default 1x2. They are never bigger than
	// the names.
	ModifierSize Scale `mapstructure:"modifier_size" default:"1x2"`
	// NumberSize and TableSize are the sizes of the order's number and table in the header. Default
	// 2x2; 3x3 also fits beside each other on 80 mm paper.
	NumberSize Scale `mapstructure:"number_size" default:"2x2"`
	TableSize  Scale `mapstructure:"table_size" default:"2x2"`
	// Header is the list of header fields in the order in which they print; a field that the
	// service did not send is skipped, and so is the venue if only one is configured. Default all:
	// venue, number, table, type, time, server, date, guests, destination, course, promised, customer.
	Header []string `mapstructure:"header"`
	// UpperCase prints names, modifiers and notes in capitals. Default false.
	UpperCase bool `mapstructure:"upper_case"`
	// BlankLines is how many blank lines separate two items. Default 0, 0 to 5.
	BlankLines int `mapstructure:"blank_lines" range:"0 5"`
	// TopMargin is how many blank lines precede a ticket, for a rail whose clamp hides its upper edge;
	// such a rail needs about 6. Default 0, 0 to 20.
	TopMargin int `mapstructure:"top_margin" range:"0 20"`
	// AlsoAt prints which other stations got lines of the order, at the foot: ALSO AT: bar, pastry.
	// Default true.
	AlsoAt bool `mapstructure:"also_at" default:"true"`
	// Footer is lines of text at the foot of a ticket, such as "at {printer}, job {job}": words in braces are the
	// fields of the header as they print there, printer, request and job. The header may have such lines too. Default
	// none.
	Footer []string `mapstructure:"footer"`
}

// HeaderFields returns the fields that a ticket's header can show.
func HeaderFields() []string {
	return []string{"venue", "number", "table", "type", "time", "server", "date", "guests", "destination", "course",
		"promised", "customer"}
}

func (l *Layout) longDefaults() { l.Header = HeaderFields() }

// DefaultPrinter is a printer of which only the name and the address are set.
func DefaultPrinter() Printer { return withDefaults[Printer]() }
