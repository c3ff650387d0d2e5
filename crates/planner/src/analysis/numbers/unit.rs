//! Currencies and units before or after a number in text.

/// Symbols and words for currencies with their ISO codes. `$`, `¥` and `kr` are ambiguous and stay symbols.
const CURRENCIES: &[(&str, &str)] = &[
    ("US$", "USD"),
    ("CA$", "CAD"),
    ("C$", "CAD"),
    ("AU$", "AUD"),
    ("A$", "AUD"),
    ("NZ$", "NZD"),
    ("HK$", "HKD"),
    ("S$", "SGD"),
    ("NT$", "TWD"),
    ("MX$", "MXN"),
    ("R$", "BRL"),
    // After the dollars with letters before the sign, since the first sign that a text begins with counts.
    ("$", "$"),
    ("€", "EUR"),
    ("£", "GBP"),
    ("¥", "¥"),
    ("₹", "INR"),
    ("₩", "KRW"),
    ("₽", "RUB"),
    ("₺", "TRY"),
    ("₪", "ILS"),
    ("₫", "VND"),
    ("฿", "THB"),
    ("₴", "UAH"),
    ("₦", "NGN"),
    ("₱", "PHP"),
    ("₿", "BTC"),
    ("zł", "PLN"),
    ("Kč", "CZK"),
    ("Ft", "HUF"),
    // Before `kr`, since the first sign that a text begins with counts.
    ("kr.", "kr"),
    ("kr", "kr"),
    ("Fr.", "CHF"),
    ("Rs.", "Rs"),
    ("Rs", "Rs"),
    ("Euro", "EUR"),
    ("euro", "EUR"),
    ("euros", "EUR"),
    ("dollar", "$"),
    ("dollars", "$"),
];

const CURRENCY_CODES: &str = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTC BTN BWP BYN BZD CAD CDF CHF \
CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB ETH EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK \
JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO \
NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP \
TRY TTD TWD TZS UAH UGX USD USDC USDT UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL";

/// Spellings of units with their canonical form.
const UNITS: &[(&str, &str)] = &[
    ("%", "%"),
    ("percent", "%"),
    ("pct", "%"),
    ("Prozent", "%"),
    ("‰", "‰"),
    ("kg", "kg"),
    ("g", "g"),
    ("mg", "mg"),
    ("µg", "µg"),
    ("t", "t"),
    ("lb", "lb"),
    ("lbs", "lb"),
    ("oz", "oz"),
    ("km", "km"),
    ("m", "m"),
    ("cm", "cm"),
    ("mm", "mm"),
    ("µm", "µm"),
    ("nm", "nm"),
    ("mi", "mi"),
    ("miles", "mi"),
    ("ft", "ft"),
    ("in", "in"),
    ("yd", "yd"),
    ("l", "l"),
    ("L", "l"),
    ("ml", "ml"),
    ("mL", "ml"),
    ("cl", "cl"),
    ("gal", "gal"),
    ("s", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("ms", "ms"),
    ("µs", "µs"),
    ("us", "µs"),
    ("ns", "ns"),
    ("min", "min"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("h", "h"),
    ("hr", "h"),
    ("hrs", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("d", "days"),
    ("day", "days"),
    ("days", "days"),
    ("week", "weeks"),
    ("weeks", "weeks"),
    ("month", "months"),
    ("months", "months"),
    ("year", "years"),
    ("years", "years"),
    ("yrs", "years"),
    ("B", "B"),
    ("byte", "B"),
    ("bytes", "B"),
    ("kB", "kB"),
    ("KB", "kB"),
    ("MB", "MB"),
    ("GB", "GB"),
    ("TB", "TB"),
    ("PB", "PB"),
    ("KiB", "KiB"),
    ("MiB", "MiB"),
    ("GiB", "GiB"),
    ("TiB", "TiB"),
    ("kbps", "kbps"),
    ("Mbps", "Mbps"),
    ("Gbps", "Gbps"),
    ("Mbit", "Mbit"),
    ("Gbit", "Gbit"),
    ("W", "W"),
    ("kW", "kW"),
    ("MW", "MW"),
    ("GW", "GW"),
    ("Wh", "Wh"),
    ("kWh", "kWh"),
    ("MWh", "MWh"),
    ("GWh", "GWh"),
    ("V", "V"),
    ("mV", "mV"),
    ("kV", "kV"),
    ("A", "A"),
    ("mA", "mA"),
    ("mAh", "mAh"),
    ("Ah", "Ah"),
    ("Hz", "Hz"),
    ("kHz", "kHz"),
    ("MHz", "MHz"),
    ("GHz", "GHz"),
    ("°C", "°C"),
    ("°F", "°F"),
    ("°", "°"),
    ("K", "K"),
    ("Pa", "Pa"),
    ("hPa", "hPa"),
    ("kPa", "kPa"),
    ("bar", "bar"),
    ("mbar", "mbar"),
    ("psi", "psi"),
    ("J", "J"),
    ("kJ", "kJ"),
    ("MJ", "MJ"),
    ("cal", "cal"),
    ("kcal", "kcal"),
    ("N", "N"),
    ("m²", "m²"),
    ("m2", "m²"),
    ("sqm", "m²"),
    ("km²", "km²"),
    ("km2", "km²"),
    ("ha", "ha"),
    ("ft²", "ft²"),
    ("sqft", "ft²"),
    ("m³", "m³"),
    ("m3", "m³"),
    ("km/h", "km/h"),
    ("kmh", "km/h"),
    ("mph", "mph"),
    ("m/s", "m/s"),
    ("px", "px"),
    ("pt", "pt"),
    ("rpm", "rpm"),
    ("bpm", "bpm"),
    ("dB", "dB"),
    ("ppm", "ppm"),
    ("bps", "bps"),
    ("pcs", "pcs"),
    ("pc", "pcs"),
    ("piece", "pcs"),
    ("pieces", "pcs"),
    ("item", "items"),
    ("items", "items"),
    ("unit", "units"),
    ("units", "units"),
    ("x", "x"),
];

/// Short units that are case-insensitive. Lower-case words of four letters and more all are.
const CASELESS_UNITS: &[&str] = &[
    "kg", "km", "cm", "lb", "lbs", "oz", "hr", "hrs", "pcs", "day",
];

/// Units of quantities whose sum has no meaning.
const INTENSIVE_UNITS: &[&str] = &[
    "%", "‰", "°C", "°F", "°", "K", "km/h", "mph", "m/s", "rpm", "bpm", "dB", "ppm", "psi", "bar",
    "hPa", "x",
];

/// Magnitude suffixes, with their powers of ten: `$1.2M`. Short ones follow amounts of money only.
const MAGNITUDES: &[(&str, i32)] = &[
    ("thousand", 3),
    ("k", 3),
    ("K", 3),
    ("m", 6),
    ("M", 6),
    ("mn", 6),
    ("mio", 6),
    ("Mio", 6),
    ("Mio.", 6),
    ("million", 6),
    ("bn", 9),
    ("B", 9),
    ("billion", 9),
    ("trillion", 12),
];

/// The length of the shortest magnitude that is a word.
const MIN_MAGNITUDE_WORD: usize = 5;

/// Returns true if a text is the ISO code of a currency.
pub(crate) fn is_currency_code(text: &str) -> bool {
    CURRENCY_CODES.split(' ').any(|code| code == text)
}

/// Returns the currency that a text names.
pub(crate) fn currency(text: &str) -> Option<&'static str> {
    let code = || CURRENCY_CODES.split(' ').find(|code| *code == text);
    let sign = CURRENCIES.iter().find(|(sign, _)| *sign == text);
    sign.map(|(_, currency)| *currency).or_else(code)
}

/// Splits off the currency at the start of a text.
pub(crate) fn leading_currency(text: &str) -> Option<(&'static str, &str)> {
    let sign = CURRENCIES
        .iter()
        .find_map(|(sign, currency)| Some((*currency, text.strip_prefix(sign)?)));
    sign.or_else(|| {
        // A code is followed by something else than a capital, so `EURO 5` has none.
        let (code, rest) =
            text.split_at_checked(text.find(|letter: char| !letter.is_ascii_uppercase())?)?;
        Some((currency(code)?, rest))
    })
}

/// Returns the canonical unit that a text names. A single capital letter adjacent to its number, as in `12B`, is not a unit.
pub(crate) fn unit_of(text: &str, is_adjacent: bool) -> Option<&'static str> {
    // `12B` may be twelve billion or a model name.
    let is_letter = text.len() == 1 && text.starts_with(|letter: char| letter.is_ascii_uppercase());
    let is_same = |written: &str| {
        let is_caseless = CASELESS_UNITS.contains(&written)
            || 3 < written.len() && written.bytes().all(|byte| byte.is_ascii_lowercase());
        written == text || is_caseless && written.eq_ignore_ascii_case(text)
    };
    let found = UNITS.iter().find(|(written, _)| is_same(written));
    found
        .filter(|_| !(is_letter && is_adjacent))
        .map(|(_, unit)| *unit)
}

/// Returns the power of ten of a magnitude that is written as a word and therefore needs no currency.
pub(crate) fn magnitude_word(text: &str) -> Option<i32> {
    magnitude(text).filter(|_| MIN_MAGNITUDE_WORD <= text.len())
}

/// Returns the power of ten of a magnitude suffix.
pub(crate) fn magnitude(text: &str) -> Option<i32> {
    let found = MAGNITUDES.iter().find(|(written, _)| *written == text);
    found.map(|(_, power)| *power)
}

/// Returns true if a sum of quantities in this unit has no meaning.
pub(crate) fn is_intensive(unit: &str) -> bool {
    INTENSIVE_UNITS.contains(&unit)
}
