"""How texts speak of a day: an ISO date spelled otherwise, a day named by its distance, a date inside a number.

Months are known in the languages below. A day that is named by its distance (`tomorrow`, `nächsten Dienstag`,
`for 3 nights`) has no date in the text: which one it is depends on a calendar this check doesn't have.
"""

# ruff: noqa: RUF001, SIM905  # other scripts; lists of words
from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache

MAX_EPOCH_SECONDS = 4_102_444_800
_MIN_EPOCH_SECONDS = 946_684_800

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}\S{0,20})?")
_COMPACT = re.compile(r"(?:19|20)\d{6}")
_ENGLISH = "january february march april may june july august september october november december".split()
_OTHERS = tuple(
    months.split()
    for months in (
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "januari februari maart april mei juni juli augustus september oktober november december",
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
        "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    )
)
_RELATIVE = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|now|asap|next|this|coming|last|weekend|christmas|easter|new year|thanksgiving"
    r"|(?:in |for |by )?(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten)[ -](?:more )?(?:nights?|days?|weeks?|months?|years?)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|heute|morgen|übermorgen|gestern|jetzt|nächste\w*|kommende\w*|diese\w*|letzte\w*|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|wochenende|weihnachten|ostern|silvester|\w+ (?:tage?n?|wochen?|monate?n?|nächte?n?)"
    r"|aujourd'hui|demain|hier|prochaine?s?|dernière?|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|noël|\w+ (?:jours?|semaines?|mois|nuits?)"
    r"|hoy|mañana|ayer|próxim[ao]s?|que viene|lunes|martes|miércoles|jueves|viernes|sábado|domingo|\w+ (?:días?|semanas?|meses|noches?)"
    r"|oggi|domani|ieri|prossim[ao]|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|hoje|amanhã|ontem|segunda|terça|quarta|quinta|sexta"
    r"|vandaag|gisteren|volgende|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag|jutro|dzisiaj|dziś|wczoraj|bugün|yarın|dün|haftaya"
    r"|сегодня|завтра|послезавтра|вчера|следующ\w+|понедельник\w*|вторник\w*|сред[ау]|четверг\w*|пятниц\w+|суббот\w+|воскресень\w+)\b"
    r"|今天|明天|后天|後天|昨天|今晚|下周|下週|本周|这周|星期|礼拜|周[一二三四五六日末]|下个月|今日|明日|明後日|昨日|来週|今週|来月|[月火水木金土日]曜"
    r"|오늘|내일|모레|어제|다음 ?주|이번 ?주|요일|اليوم|غدا|أمس|आज|कल"
)


def is_relative(text: str) -> bool:
    """Return whether a lower-case text speaks of a day by its distance, its weekday or its feast."""
    return _RELATIVE.search(text) is not None


def date_in_number(value: float | Decimal) -> str | None:
    """Return the ISO date that a number holds: 20260310, or seconds or milliseconds since 1970."""
    if value != int(value):
        return None
    number = int(value)
    if _COMPACT.fullmatch(str(number)):
        return date_in_digits(str(number))
    seconds = number // 1_000 if number > MAX_EPOCH_SECONDS else number
    if _MIN_EPOCH_SECONDS <= seconds <= MAX_EPOCH_SECONDS:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    return None


def date_in_digits(text: str) -> str | None:
    """Return the ISO date that eight digits spell, or None."""
    if not _COMPACT.fullmatch(text):
        return None
    found = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    return found if spellings_of_date(found) else None


@lru_cache(maxsize=1024)
def spellings_of_date(text: str) -> tuple[str, ...]:
    """Return how a text may write an ISO date; empty when the value is none."""
    match = _DATE.fullmatch(text)
    if match is None:
        return ()
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return ()
    return (f"{day.year}-{day.month:02}-{day.day:02}", *_in_figures(day), *_in_english(day), *_in_other_languages(day))


def _in_figures(day: date) -> list[str]:
    y, m, d = day.year, day.month, day.day
    short = f"{y % 100:02}"
    return [
        f"{d:02}.{m:02}.{y}", f"{d}.{m}.{y}", f"{m:02}/{d:02}/{y}", f"{m}/{d}/{y}", f"{d:02}/{m:02}/{y}", f"{d}/{m}/{y}",
        f"{d:02}-{m:02}-{y}", f"{d}-{m}-{y}", f"{y}/{m:02}/{d:02}", f"{y}/{m}/{d}", f"{y}.{m:02}.{d:02}", f"{y}{m:02}{d:02}",
        f"{m}/{d}", f"{m:02}/{d:02}", f"{d}/{m}", f"{d}.{m}.", f"{d:02}.{m:02}.", f"{d}/{m}/{short}", f"{m}/{d}/{short}", f"{d:02}/{m:02}/{short}", f"{m:02}/{d:02}/{short}",
        f"{d}.{m}.{short}", f"{d:02}.{m:02}.{short}", f"{m}月{d}", f"{m}월 {d}", f"{m}월{d}",
    ]  # fmt: skip


def _in_english(day: date) -> list[str]:
    d = day.day
    suffix = "th" if 10 < d < 20 else {1: "st", 2: "nd", 3: "rd"}.get(d % 10, "th")  # noqa: PLR2004
    name = _ENGLISH[day.month - 1]
    return [
        form
        for month in dict.fromkeys((name, name[:3], name[:4]))
        for n in (str(d), f"{d}{suffix}", f"{d:02}")
        for form in (f"{month} {n}", f"{month}. {n}", f"{month} the {n}", f"{n} {month}", f"{n} of {month}", f"{n}. {month}")
    ]


def _in_other_languages(day: date) -> list[str]:
    names = dict.fromkeys(months[day.month - 1] for months in _OTHERS)
    return [
        form
        for month in names
        for n in (str(day.day), f"{day.day:02}")
        for form in (f"{n}. {month}", f"{n} {month}", f"{n} de {month}", f"{n}er {month}", f"{n}º de {month}")
    ]
