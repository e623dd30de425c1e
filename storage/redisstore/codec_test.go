package redisstore

import (
	"reflect"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

var noon = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// Every field of a record is stored, new ones included.
func TestRecordsComeBackWhole(t *testing.T) {
	ev := &deliver.Event{}
	fill(reflect.ValueOf(ev).Elem())
	ev.ID, ev.Seq = "evt", 0 // not part of the record
	got, err := decodeEvent("evt", string(appendEvent(nil, ev, ev.CommittedAt)))
	same(t, got, ev, err)

	var a deliver.Attempt
	fill(reflect.ValueOf(&a).Elem())
	log, err := decodeAttempts(hex(uint64(a.N)) + string(appendField(nil, appendAttempt(&a))))
	same(t, log, []deliver.Attempt{a}, err)

	var c detect.Cursor
	fill(reflect.ValueOf(&c).Elem())
	cursor, err := decodeCursor(c.Target, string(appendCursor(nil, &c)))
	same(t, cursor, c, err)

	var e billing.Entry
	fill(reflect.ValueOf(&e).Elem())
	head := appendField(appendField(nil, "7"), "7")
	head = appendField(appendField(head, escaped(e.Owner)), e.SourceID)
	entry, err := decodeEntry(e.ID, string(head)+string(entryRest(&e)))
	same(t, entry, e, err)
}

func same(t *testing.T, got, want any, err error) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("came back as %+v, %v\nwant %+v", got, err, want)
	}
}

// fill gives every field a value other than zero.
func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(noon))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case v.Kind() == reflect.String:
		v.SetString("text")
	case v.CanInt():
		v.SetInt(7)
	case v.CanUint():
		v.SetUint(7)
	}
}

func TestDeliveriesComeBackWhole(t *testing.T) {
	ev := &deliver.Event{ID: "evt", Source: deliver.Source{ID: "m", Kind: deliver.SourceRule}, AuthorUsername: "NASA"}
	stored := "d" + stamp(noon) + "00000002" + hex(7) + hex(9) + string(appendDelivery(ev, escaped("acme"), laneOf("whk"), noon))
	d, err := decodeDelivery("dlv", stored, map[string]*deliver.Event{"evt": {ID: "evt"}})
	same(t, d, deliver.Delivery{ID: "dlv", Event: &deliver.Event{ID: "evt", Seq: 9}, EndpointID: "whk", State: deliver.StateDelivered,
		Due: noon, CreatedAt: noon, Attempts: 2}, err)
}

// Whatever is stored, reading it gives a record or an error.
func FuzzDecode(f *testing.F) {
	ev := &deliver.Event{Source: deliver.Source{Owner: "acme"}, Body: []byte("{}"), Handlers: []string{"log"}}
	f.Add(string(appendEvent(nil, ev, ev.CommittedAt)))
	f.Add("p" + stamp(noon) + "00000001" + hex(1) + hex(1) + string(appendDelivery(ev, escaped("acme"), laneOf("e"), noon)))
	f.Add(hex(1) + string(appendField(nil, appendAttempt(&deliver.Attempt{}))))
	f.Add(string(appendCursor(nil, &detect.Cursor{Gaps: make([]detect.Gap, 2)})))
	f.Add("1:0" + "2:-1" + "6:acme\x00\x00" + "0:" + string(entryRest(&billing.Entry{})))
	f.Add("6:acme\x00\x00" + "0:0:0:0:1:71:71:1" + "16:" + hex(1) + "16:" + stamp(noon) + "16:" + stamp(noon) + "0:0:")
	f.Fuzz(func(t *testing.T, stored string) {
		decodeEvent("e", stored)
		decodeDelivery("d", stored, nil)
		decodeAttempts(stored)
		decodeCursor("t", stored)
		decodeEntry("e", stored)
		decodeRecord("7:monitorm", stored, "{}")
		splitFields(stored)
		numbers(stored)
	})
}
