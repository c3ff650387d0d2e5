//! Roles of fields, as indicated by their names.

/// Names of fields that identify a record.
const IDS: &[&str] = &["id", "_id", "uuid", "guid"];

/// Last words of field names whose numbers are identifiers, ranks or coordinates.
const LABELS: &str = "\
accountid asin asn bbox bic build by channel checksum code codes color colour coordinates coords cursor customerid day dow doy ean \
epoch errno errorcode extension fax fk fy gate gid gtin guid hash hour iban id ids idx imei index ip isbn itemid jahr key kw lane \
lat latitude line lineno lng lon long longitude minute mobile monat month no nr num number nummer offset oid order orderid \
ordinal page phone phonenumber phones pid pk place plz port pos position positions postal postalcode postcode priority productid \
quarter rang rank ranking ranks ref reference revision room row seat second seq sequence serial sku ssn status statuscode step \
tel telefon telephone uid upc userid uuid version vin week weekday year yr zip zipcode zips";

/// Names of entities that are counts in the plural and identifiers in the singular.
const ENTITIES: &str = "\
account article assignee author booking branch category client contract creator customer department device employee event invoice issue item manager member owner parent \
patient product project session shipment shop store student supplier task team ticket user vendor";

/// Words in names of fields whose numbers may be timestamps.
const DATE_WORDS: &str = "\
accessed at begin birth born built changed closed completed created date datetime day deadline deleted due end ended epoch \
established expires expiry finished founded from issued joined last logged modified moment occurred on opened paid posted \
published received released seen sent shipped since stamp start started time timestamp timestamps to ts until updated utc \
vintage when years";

/// Words in names of fields whose numbers between 1900 and 2100 are years.
const YEAR_WORDS: &str = "birth born built established founded joined opened published released since started vintage years";

/// Words in names of fields whose numbers are shares.
const SHARE_WORDS: &str = "pct percent percentage prozent ratio";

/// Words in names of fields whose numbers are not money, whatever currency is beside them.
const COUNTS: &str = "\
age amperage count days depth distance duration height hours items length likes minutes number orders people persons pieces \
points qty quantity rating score seconds size stars stock units views visits volume votes weeks weight width years";

/// Words in names of fields whose numbers may have the unit that is beside them.
const MEASURES: &str = "\
amount consumption depth distance dose duration height length level mass measure measurement qty quantity reading result size \
speed temperature value volume weight width";

/// Words in names of fields that contain currencies.
const CURRENCY_WORDS: &str = "ccy cur curr currency waehrung währung";

/// The kind of unit that a field assigns to the numbers of another field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Currency,
    Unit,
}

/// Splits a name into lower-case words: `shippedAt`, `shipped_at` and `page.shipped-at` all end with `shipped`, `at`.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before: Option<char> = None;
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_alphanumeric() {
            // A capital starts a word, but in a run of capitals only the last one does: `HTTPStatus`.
            let is_hump = letter.is_uppercase()
                && before.is_some_and(|before| {
                    before.is_lowercase()
                        || before.is_uppercase()
                            && letters.peek().is_some_and(|next| next.is_lowercase())
                });
            match words.last_mut() {
                Some(word) if before.is_some() && !is_hump => word.extend(letter.to_lowercase()),
                _ => words.push(letter.to_lowercase().collect()),
            }
            before = Some(letter);
        } else {
            before = None;
        }
    }
    words
}

fn last_part(name: &str) -> &str {
    let name = name.trim_end_matches('.');
    name.rsplit('.').next().unwrap_or(name)
}

fn has(table: &str, word: &str) -> bool {
    table.split(' ').any(|known| known == word)
}

fn has_word(name: &str, wanted: &str) -> bool {
    words(last_part(name)).iter().any(|word| has(wanted, word))
}

/// Returns true if the values of a field identify its record.
pub(crate) fn is_id(name: &str) -> bool {
    IDS.contains(&name.to_ascii_lowercase().as_str())
}

/// Returns true if the numbers of a field are identifiers, ranks or coordinates, which are never added.
pub(crate) fn is_label(name: &str) -> bool {
    let words = words(last_part(name));
    if name.ends_with(['#', '№']) {
        return true;
    }
    // `kWh per day` is an amount. A `number of orders` is one too: only the last word counts.
    if words.iter().any(|word| word == "per") {
        return false;
    }
    words
        .last()
        .is_some_and(|last| has(LABELS, last) || last.ends_with("nummer") || last.ends_with("uuid"))
}

/// Returns true if a field is named after one entity, so that integers in it are identifiers.
pub(crate) fn is_entity(name: &str) -> bool {
    match &*words(last_part(name)) {
        [word] => has(ENTITIES, word),
        _ => false,
    }
}

/// Returns true if the numbers of a field may be timestamps.
pub(crate) fn is_date_field(name: &str) -> bool {
    has_word(name, DATE_WORDS)
}

/// Returns true if the numbers of a field may be years.
pub(crate) fn is_year(name: &str) -> bool {
    has_word(name, YEAR_WORDS)
}

/// Returns true if the numbers of a field are shares, whose sum has no meaning.
pub(crate) fn is_share(name: &str) -> bool {
    has_word(name, SHARE_WORDS)
}

/// Returns true if the currencies in the field `beside`, whatever its name, apply to the numbers of the field `name`.
pub(crate) fn is_money_beside(beside: &str, name: &str) -> bool {
    let currency = match beside.rsplit_once('.') {
        Some((record, _)) => format!("{record}.currency"),
        None => "currency".to_owned(),
    };
    unit_kind_for(&currency, name).is_some()
}

/// Returns the kind of unit in the field `beside` for the numbers of the field `name` of the same record, if it has one.
pub(crate) fn unit_kind_for(beside: &str, name: &str) -> Option<UnitKind> {
    let (outer, inner) = beside.rsplit_once('.').unwrap_or(("", beside));
    let is_reachable = name
        .rsplit_once('.')
        .map_or(outer.is_empty(), |(of, _)| of == outer || outer.is_empty());
    let beside_words = words(inner);
    let kind = if beside_words.iter().any(|word| has(CURRENCY_WORDS, word)) {
        UnitKind::Currency
    } else if beside_words
        .last()
        .is_some_and(|word| ["unit", "units", "uom", "einheit"].contains(&word.as_str()))
    {
        UnitKind::Unit
    } else {
        return None;
    };
    let own = words(last_part(name));
    // A field `currency` applies to all amounts beside it, `price_currency` to `price` alone.
    let is_match = if beside_words.len() == 1
        || beside_words == ["currency", "code"]
        || beside_words == ["iso", "currency"]
    {
        match kind {
            UnitKind::Currency => !own.iter().any(|word| has(COUNTS, word)),
            UnitKind::Unit => own.iter().any(|word| has(MEASURES, word)),
        }
    } else {
        beside_words.starts_with(&own)
    };
    (is_reachable && is_match).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names() {
        for (name, expected) in [
            ("shippedAt", "shipped at"),
            ("orderID", "order id"),
            ("HTTPStatus", "http status"),
            ("a_b-c d", "a b c d"),
            ("", ""),
        ] {
            assert_eq!(words(name).join(" "), expected);
        }
    }

    #[test]
    fn labels_are_no_amounts() {
        for name in "id customer_id created_by fy orderID status_code HTTPStatus lat page.number fiscal_year zip phoneNumber rank Bestellnummer".split(' ') {
            assert!(is_label(name), "{name}");
        }
        assert!(is_label("Jersey #"));
        for name in
            "total paid years orders order_count cost_per_day grid value hours latency humid"
                .split(' ')
        {
            assert!(!is_label(name), "{name}");
        }
    }

    #[test]
    fn a_currency_belongs_to_money() {
        assert_eq!(
            unit_kind_for("currency", "amount"),
            Some(UnitKind::Currency)
        );
        assert_eq!(
            unit_kind_for("price.currency", "price.amount"),
            Some(UnitKind::Currency)
        );
        assert_eq!(
            unit_kind_for("currency", "price.amount"),
            Some(UnitKind::Currency)
        );
        assert_eq!(
            unit_kind_for("total_currency", "total"),
            Some(UnitKind::Currency)
        );
        assert_eq!(unit_kind_for("unit", "quantity"), Some(UnitKind::Unit));
        for (beside, name) in [
            ("currency", "quantity"),
            ("price.currency", "amount"),
            ("total_currency", "tax"),
            ("unit", "price"),
            ("community", "amount"),
        ] {
            assert_eq!(unit_kind_for(beside, name), None, "{beside} and {name}");
        }
    }
}
