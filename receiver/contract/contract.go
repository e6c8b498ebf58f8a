// Package contract is what the point-of-sale service and this kitchen have agreed on:
// every path, header, field and status of the service's wire contract, and the one way
// to read a print request.
//
// Nothing else in the program spells these words. The package knows no routes, printers
// or storage; it decides only whether a body is a print request, and says where it is not.
package contract

import "time"

// PathWebhook is where print requests arrive unless configured otherwise.
const PathWebhook = "/webhooks/print"

// Headers of every webhook request. Services of this kind exist with another prefix, so
// these are defaults.
const (
	HeaderVenue  = "x-svc-venueid"   // UUID of the venue that sends
	HeaderDevice = "x-svc-device-id" // hardware id of the terminal that triggered the print
)

// ContentType is the media type of every body, either way.
const ContentType = "application/json"

// What an answer to a print request makes the service do.
const (
	StatusStored      = 200 // the job is done for the service: SENT or CONSUMED
	StatusMismatch    = 400 // the job is aborted, nobody retries
	StatusMissing     = 401 // aborted; the venue's admin is alerted
	StatusNotAllowed  = 403 // aborted; the venue's admin is alerted
	StatusInternal    = 500 // retried
	StatusUnavailable = 503 // retried
)

// Limits of the webhook.
const (
	WebhookTimeout = 5 * time.Second // the service gives up on an answer after this
	WebhookRetries = 3               // then the order is lost
)

// Fields of the envelope around every list, received or asked for.
const (
	FieldRecords         = "records"
	FieldLength          = "length"
	FieldStatus          = "status"
	FieldCount           = "count"
	FieldDuration        = "duration"
	FieldRequestStamp    = "serverRequestTimestamp"
	FieldResponseStamp   = "serverResponseTimestamp"
	FieldClientDrift     = "serverClientDrift"
	FieldCursor          = "cursor"
	FieldID              = "id"
	FieldUpdatedAt       = "updatedAt"
	StatusSuccess        = "SUCCESS" // the envelope's status when all is well
	StatusError          = "ERROR"
	FieldError           = "error"
	FieldErrorCode       = "code"
	FieldErrorMessage    = "message"
	FieldAnswerDuplicate = "duplicate"
)

// Fields of a print record and its items that the contract names. Everything else in them
// is for the plan to look for.
const (
	FieldItems      = "items"
	FieldChildItems = "childItems"
	FieldRetryCount = "retryCount"
	FieldVenueID    = "venueId"

	FieldIsVoid = "isVoid"
	FieldVoid   = "void"
	FieldVoided = "voided"
)

// Limits of a print request, ours.
const (
	MaxIDBytes = 200    // records[0].id
	MaxDepth   = 64     // items in items; an item of the record itself is at depth 1
	MaxItems   = 10_000 // of all records together, children included; and as many records
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

	FieldAccessToken      = "access_token"
	FieldTokenType        = "token_type"
	FieldExpiresIn        = "expires_in" // seconds
	FieldErrorDescription = "error_description"
	TokenTypeBearer       = "Bearer"

	ErrorInvalidClient    = "invalid_client"
	ErrorInvalidRequest   = "invalid_request"
	ErrorInvalidScope     = "invalid_scope"
	ErrorUnsupportedGrant = "unsupported_grant_type"
	ErrorAccessDenied     = "access_denied"
)

// The scopes that the contract names. Which scope a call needs is not shown.
const (
	ScopeChecksRead = "checks:read"
	ScopeMenuRead   = "menu:read"
	ScopeLaborRead  = "labor:read" // not shown: what the simulator wants for the labor endpoints
)

// Names that the contract does not show, as they are unless configured otherwise.
const (
	ParamTokenVenue   = "venue_id" // names the venue in a token request
	ParamPayrollVenue = "venueId"  // names the venue in a request for payroll periods
	HeaderNextCursor  = "X-Next-Cursor"
	FieldNextCursor   = "nextCursor"
	FieldScope        = "scope"  // of a token or of /me, separated by spaces
	FieldScopes       = "scopes" // the same as a list
)

// NextCursorPlaces is where a list's answer may name its next page, as dotted paths into the
// envelope; there is also [HeaderNextCursor]. Names that say "next" come first, for a plain
// cursor may be the one that was asked with.
func NextCursorPlaces() []string {
	return []string{
		FieldNextCursor, "next_cursor",
		"meta.nextCursor", "meta.next_cursor", "pagination.nextCursor", "pagination.next_cursor",
		FieldCursor, "meta.cursor", "pagination.cursor",
	}
}

// MeVenuePlaces is where /me may name the venue that a token is for, as dotted paths.
func MeVenuePlaces() []string { return []string{"venue_id", FieldVenueID, "venue.id", "venue"} }

// Fields of an employee.
const (
	FieldName      = "name"
	FieldFirstName = "firstName"
	FieldLastName  = "lastName"
)

// Fields of a payroll period and its meta object.
const (
	FieldPeriodStart         = "payrollPeriodStartDateTime" // a date, whatever its name says
	FieldPeriodEnd           = "payrollPeriodEndDateTime"
	FieldMeta                = "meta"
	FieldSchedulingStartDay  = "laborSchedulingStartDayOfWeek"
	FieldPayPeriodStartAt    = "payPeriodStartAt"
	FieldPayPeriodEndAt      = "payPeriodEndAt"
	FieldOvertimeStartDay    = "overtimeWeekStartDayOfWeek"
	FieldTimezone            = "timezone"
	FieldOvertimeDailyDouble = "overtimeDailyDoubleHours"
	FieldOvertimeDaily       = "overtimeDailyHours"
	FieldOvertimeWeekly      = "overtimeWeeklyHours"
)
