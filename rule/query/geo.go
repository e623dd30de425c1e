package query

import (
	"math"
	"strconv"
	"strings"
)

// maxMiles is the documented limit of a radius (point_radius:) and of a width and height
// (bounding_box:). They must be below it.
const maxMiles = 25

const kmPerMile = 1.609344

func geoFault(message, hint string) *fault { return &fault{"E_GEO", message, hint} }

// parseGeo reads [lon lat radius] or [west south east north].
func parseGeo(op opID, a *argument) *fault {
	want := "[longitude latitude radius], such as [2.355128 48.861118 16km]"
	if op == opBoundingBox {
		want = "[west south east north], such as [-105.3 39.96 -105.17 40.09]"
	}
	inner, ok := strings.CutPrefix(a.text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	parts := strings.Fields(inner)
	if op == opPointRadius && len(parts) == 4 { // the unit may stand apart
		parts = []string{parts[0], parts[1], parts[2] + parts[3]}
	}
	if !ok || !closed || op == opPointRadius && len(parts) != 3 || op == opBoundingBox && len(parts) != 4 {
		return geoFault(op.label(Union)+": has no "+want, "numbers are separated by spaces, and longitude comes first")
	}
	for i, p := range parts {
		var f *fault
		switch {
		case op == opPointRadius && i == 2:
			f = parseRadius(p, &a.geo[2], &a.unit, false)
		case i%2 == 0:
			f = degrees(p, 180, "longitude", &a.geo[i])
		default:
			f = degrees(p, 90, "latitude", &a.geo[i])
		}
		if f != nil {
			return f
		}
	}
	if op == opPointRadius {
		if miles(a.geo[2], a.unit) >= maxMiles {
			return geoFault("the radius "+parts[2]+" is too large", "it has to be below 25 mi (40.2 km)")
		}
		a.text = "[" + parts[0] + " " + parts[1] + " " + formatFloat(a.geo[2]) + a.unit + "]"
		return nil
	}
	west, south, east, north := a.geo[0], a.geo[1], a.geo[2], a.geo[3]
	if west >= east || south >= north {
		return geoFault("the box is empty", "write [west south east north]")
	}
	height := (north - south) * math.Pi / 180 * 3958.8
	width := (east - west) * math.Pi / 180 * 3958.8 * math.Cos((north+south)/2*math.Pi/180)
	if height >= maxMiles || width >= maxMiles {
		return geoFault("the box is too large", "width and height have to be below 25 mi")
	}
	a.text = "[" + strings.Join(parts, " ") + "]"
	return nil
}

// parseGeocode reads lat,long,radius. Unlike in parseGeo, the latitude comes first.
func parseGeocode(a *argument) *fault {
	parts := strings.Split(a.text, ",")
	if len(parts) != 3 {
		return geoFault(quoteShort(a.text)+" is not latitude,longitude,radius", "write geocode:37.7764685,-122.4172004,10km")
	}
	if f := degrees(parts[0], 90, "latitude", &a.geo[1]); f != nil {
		return f
	}
	if f := degrees(parts[1], 180, "longitude", &a.geo[0]); f != nil {
		return f
	}
	return parseRadius(parts[2], &a.geo[2], &a.unit, true)
}

func degrees(s string, limit float64, what string, into *float64) *fault {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(math.Abs(x) <= limit) || strings.ContainsAny(s, "xXpP_") {
		return geoFault(what+" "+quoteShort(s)+" is not allowed", "want -"+formatFloat(limit)+" to "+formatFloat(limit)+" degrees")
	}
	*into = x
	return nil
}

// parseRadius reads a radius such as 10km or 6mi. A radius without a unit is in miles, or an
// error if needUnit is set.
func parseRadius(s string, into *float64, unit *string, needUnit bool) *fault {
	number := strings.ToLower(s)
	*unit = ""
	for _, u := range []string{"km", "mi"} {
		if cut, ok := strings.CutSuffix(number, u); ok {
			number, *unit = cut, u
		}
	}
	if *unit == "" && !needUnit {
		*unit = "mi"
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || !(x > 0) || math.IsInf(x, 0) || *unit == "" || strings.ContainsAny(number, "xp_") {
		return geoFault("radius "+quoteShort(s)+" is not allowed", "want a number above 0 with km or mi, such as 10km")
	}
	*into = x
	return nil
}

func miles(radius float64, unit string) float64 {
	if unit == "km" {
		return radius / kmPerMile
	}
	return radius
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
