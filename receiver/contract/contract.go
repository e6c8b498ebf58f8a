// Package contract is the wire contract between the point-of-sale service and the kitchen: every
// path, header, field and status that the two exchange, and the parser for print requests.
//
// A change of the contract is a change here: other packages use these names. Only config, which
// imports no other package of the program, repeats those that are defaults of its keys, and
// receiver/plan has the lists of fields that the contract does not name. This package knows nothing
// of routes, printers or storage. It decides only whether a body is a print request, and names the
// field that is wrong if it is not.
//
// The contract is the document "Restaurant Point-of-Sale Integration Service: Labor Data,
// Authentication and Print Webhooks" of the service's provider. Section numbers in comments, here and
// in the packages receiver, pos and sim, refer to that document. It is not part of this
// repository. Names that it does not state are marked as such.
package contract

import (
	"embed"
	"fmt"
	"regexp"
	"time"

	"ticketrail/queue/ticket"
)

// PathWebhook is the default path of the webhook.
const PathWebhook = "/webhooks/print"

// Headers of every webhook request. The names are configurable, because some services use a prefix
// other than x-svc.
const (
	HeaderVenue  = "x-svc-venueid"   // UUID of the venue that sends
	HeaderDevice = "x-svc-device-id" // hardware id of the terminal that triggered the print
)

// ContentType is the media type of every body, either way.
const ContentType = "application/json"

// Statuses of the answer to a print request, and the reaction of the service (section 6.3). Only an error
// that may pass is answered with a status that is retried: a request that can never be printed
// would be sent four times without success.
const (
	HTTPStored        = 200 // the service logs its print job as SENT or CONSUMED and never sends it again
	HTTPBadRequest    = 400 // the service aborts its print job and does not retry it
	HTTPHeaderMissing = 401 // aborted; the venue's admin is alerted
	HTTPNotAllowed    = 403 // aborted; the venue's admin is alerted
	HTTPInternal      = 500 // retried
	HTTPUnavailable   = 503 // retried
)

// Limits of the webhook.
const (
	WebhookTimeout = 5 * time.Second // the service waits this long for an answer
	WebhookRetries = 3               // after them the service gives the order up: it is lost
)

// Fields of the envelope: of print requests, and of lists that the read API returns.
const (
	FieldRecords         = "records"
	FieldLength          = "length"
	FieldStatus          = "status"
	FieldCount           = "count"
	FieldDuration        = "duration"
	FieldRequestStamp    = "serverRequestTimestamp"
	FieldResponseStamp   = "serverResponseTimestamp"
	FieldClientDrift     = "serverClientDrift"
	FieldID              = "id"
	FieldUpdatedAt       = "updatedAt"
	ValueSuccess         = "SUCCESS" // value of the field status: no error
	ValueError           = "ERROR"
	FieldError           = "error"
	FieldAnswerDuplicate = "duplicate"
)

// Fields of a print record and its items that the contract names. Package plan looks for all other
// fields, under the names that services use.
const (
	FieldItems      = "items"
	FieldChildItems = "childItems"
	FieldRetryCount = "retryCount"
	FieldVenueID    = "venueId"

	FieldIsVoid = "isVoid"
)

// Limits of a print request. The contract sets none; these are far above a real order, and bound
// the memory and paper that one request can use.
const (
	// An id is stored, logged and shown with every ticket.
	MaxIDBytes = 200    // records[0].id
	MaxDepth   = 64     // of items in items; an item of the record itself is at depth 1
	MaxItems   = 10_000 // items of all records together, children included; also the most records
)

// The read API of the service, below its base address.
const (
	PathToken          = "/oauth/token"
	PathMe             = "/me"
	PathEmployees      = "/v1/labor/employees"
	PathPayrollPeriods = "/v1/labor/payrollperiods"

	ParamLimit  = "limit"
	ParamCursor = "cursor"

	DefaultPageSize = 20
	TokenLifetime   = 15 * time.Minute
)

// The token request and its answer, as OAuth 2.0 (RFC 6749, sections 4.4 and 5) has them.
const (
	ParamGrantType         = "grant_type"
	GrantClientCredentials = "client_credentials"
	ParamClientID          = "client_id"
	ParamClientSecret      = "client_secret"
	ParamScope             = "scope"

	FieldAccessToken = "access_token"
	FieldExpiresIn   = "expires_in" // seconds
	TokenTypeBearer  = "Bearer"
)

// Names that the contract does not state. They are the defaults of configuration keys.
const (
	ParamTokenVenue   = "venue_id" // names the venue in a token request
	ParamPayrollVenue = "venueId"  // names the venue in a request for payroll periods
	FieldNextCursor   = "nextCursor"
	FieldScope        = "scope"  // of a token or of /me, separated by spaces
	FieldScopes       = "scopes" // the same as a list
)

// FieldName is the name of an employee, and of an item.
const FieldName = "name"

// Fields of a payroll period and its meta object.
const (
	FieldPeriodStart      = "payrollPeriodStartDateTime" // a date without a time, despite its name
	FieldPeriodEnd        = "payrollPeriodEndDateTime"
	FieldMeta             = "meta"
	FieldPayPeriodStartAt = "payPeriodStartAt"
	FieldPayPeriodEndAt   = "payPeriodEndAt"
	FieldTimezone         = "timezone"
)

// A Mode says how far a body may deviate from the contract and still be printed.
type Mode int

const (
	// Lenient accepts every body that can be printed, and counts deviations. It is the default: a service that
	// changes a detail must not stop the kitchen.
	Lenient Mode = iota
	// Strict also refuses a request whose first record's id is not a UUID. Such an order is lost, and the service logs
	// that. The ids of other records are not used to recognise a request.
	Strict
	// Text prints the records of every body as text, and the other fields of the envelope as usual; the whole body as
	// text, if it has no records. No configuration selects it: it is for a refused body that a person prints late.
	Text
)

// A PrintRequest is a body that can be printed.
type PrintRequest struct {
	// ID is records[0].id in canonical form. With the venue it is the key that duplicates are
	// recognised by. An id that is not valid Unicode is quoted.
	ID        string
	Envelope  Value     // the whole body, or its part before a limit or an error of the parser
	Records   []Record  // at least one
	Anomalies []Anomaly // its deviations, each kind at most once
	Raw       []byte    // the body as received, without a byte order mark
	Cut       bool      // it prints as text, and only its beginning
	// Content stands for the body: a retry has the same. Zero: the body is not JSON.
	Content ticket.Digest
}

// A Record is one element of records.
type Record struct {
	ID     string  // canonical; empty if there is none or it is not a string
	Fields Value   // the whole record, items included
	Items  []Value // objects; childItems of each is absent, null or a list of objects
	// Unreadable is the text that prints for a body that cannot be read. Its request has this record alone. Of other
	// records it is empty.
	Unreadable string
	Why        string // heads an unreadable record
}

// InvalidJSON says that a body is not one JSON object. It is answered 400, so the body is never
// sent again.
type InvalidJSON struct {
	Offset int64 // of the first wrong byte
	Reason string
}

func (e *InvalidJSON) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

// Mismatch says where a body differs from the contract: "records[0].items: missing". It contains
// nothing of the body, because answers and logs show it and orders name guests.
type Mismatch struct {
	Path    string // in JavaScript syntax: records[0].items[2].childItems
	Problem string
	limit   bool // the contract allows the body and this program does not: it prints as text
}

func mismatch(path, problem string) *Mismatch { return &Mismatch{Path: path, Problem: problem} }

func overLimit(path, problem string) *Mismatch {
	return &Mismatch{Path: path, Problem: problem, limit: true}
}

func (e *Mismatch) Error() string {
	at := e.Path
	if len(at) > 2*maxPathPart { // 64 levels of items have a path of a kilobyte, in the answer, the log and the list
		at = at[:maxPathPart] + "…" + at[len(at)-maxPathPart:]
	}
	return at + ": " + e.Problem
}

const maxPathPart = 100 // bytes that a message has of the beginning and of the end of a long path; it is ASCII

// below puts the path of the parent in front of a mismatch's path. Only a mismatch pays for the
// path; a correct request builds no text.
func (e *Mismatch) below(parent string) *Mismatch {
	e.Path = parent + "." + e.Path
	return e
}

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// An Anomaly is a deviation from the contract in a request that can be printed nevertheless. It is
// counted, so that the operator sees that the service has changed before something breaks. Its
// values are label values in the metrics and may not be renamed.
type Anomaly string

const (
	IDNotUUID    Anomaly = "id_not_uuid"   // records[0].id is not a UUID
	InvalidUTF8  Anomaly = "invalid_utf8"  // bytes that are not UTF-8; each is read as U+FFFD
	StatusOdd    Anomaly = "status"        // a status other than SUCCESS
	CountOdd     Anomaly = "count"         // a count other than the number of records
	VenueOther   Anomaly = "venue_id"      // a record's venueId differs from the header: see [VenueDiffers]
	DuplicateKey Anomaly = "duplicate_key" // an object has the same key more than once: see [Open]
	OverLimit    Anomaly = "over_limit"    // a limit of ours is exceeded: it prints as text
)

// Anomalies lists all kinds. The metrics show each of them from the start, with 0.
func Anomalies() []Anomaly {
	return []Anomaly{IDNotUUID, InvalidUTF8, StatusOdd, CountOdd, VenueOther, DuplicateKey, OverLimit}
}

// wantedKey matches keys of the times for which a meal is wanted: a retry repeats them, see mayDiffer. Package plan
// prints times under more keys (wantedTime). A requestedAt prints, but it may be the time of the retry: as content it
// would make the retry print again.
var wantedKey = regexp.MustCompile(
	`(?i)^(?:promised?|due|pick_?up|collection|ready|wanted|delivery|serve|needed|eta)(?:_?(?:at|by|for|time|date))?$`)

//go:embed examples/*.json
var examples embed.FS

// Example returns one of the print requests below, as a deployed service sends them. It panics if
// there is no such file.
//
//	burger.json       modifiers in modifiers, a note, layout instructions
//	retry.json        the same request as a retry: only retryCount and timestamps differ
//	void.json         an item of an earlier order is cancelled
//	bar.json          drinks for another printer, fractions, a refire
//	two-records.json  two records in one request
//	accents.json      letters that no single code page contains
//	no-items.json     a record without items
func Example(name string) []byte {
	body, err := examples.ReadFile("examples/" + name)
	if err != nil {
		panic(err)
	}
	return body
}
