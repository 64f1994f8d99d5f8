import AgentModel
import AppProtocol

/// A language of the page: a file in `Languages`, and its line in `all`.
struct Language: Sendable, Equatable {
    /// Code in HTML, cookies and `Accept-Language`, for example `de`.
    let code: String
    /// Texts by key. A text with a number has several plural forms.
    private let texts: [String: [String]]

    static let en = Language(reading: PackageResources.en_txt)
    static let de = Language(reading: PackageResources.de_txt)
    static let es = Language(reading: PackageResources.es_txt)
    static let fr = Language(reading: PackageResources.fr_txt)
    static let it = Language(reading: PackageResources.it_txt)
    static let pl = Language(reading: PackageResources.pl_txt)
    static let pt = Language(reading: PackageResources.pt_txt)
    static let ar = Language(reading: PackageResources.ar_txt)
    static let all = [en, de, es, fr, it, pl, pt, ar]

    private init(reading file: [UInt8]) {
        texts = Self.entries(of: file).reduce(into: [:]) { $0[$1.key] = $1.forms }
        code = texts[Phrase.languageCode.rawValue]?.first ?? ""
    }

    init?(code: String) {
        guard let language = Self.all.first(where: { $0.code == code }) else { return nil }
        self = language
    }

    /// Chooses the browser's preferred available language (RFC 9110, 12.5.4), otherwise English.
    init(accepting header: String?) {
        let ranges = (header ?? "").prefix(256).split(separator: ",").prefix(16).map { range -> (String, Double) in
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " } }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            let tag = parts.first?.split(separator: "-").first.map { $0.lowercased() } ?? ""
            return (tag, weight.isFinite ? weight : 0)
        }
        let known = ranges.filter { Language(code: $0.0) != nil && $0.1 > 0 }
        // Chooses the first language of those with equal weight.
        let best = known.reduce(nil as (String, Double)?) { best, range in
            best.map { $0.1 >= range.1 } ?? false ? best : range
        }
        self = best.flatMap { Language(code: $0.0) } ?? .en
    }

    static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// Keys of the file.
    var keys: Dictionary<String, [String]>.Keys { texts.keys }

    /// Returns the plural forms of a text; one form for most texts.
    func forms(of key: String) -> [String]? { texts[key] }

    /// Parses lines of `key = text` or `key = form | form`. Ignores empty lines and those with `#`.
    static func entries(of file: [UInt8]) -> [(key: String, forms: [String])] {
        file.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard line.first != UInt8(ascii: "#"), let equals = line.firstIndex(of: UInt8(ascii: "=")) else {
                return nil
            }
            func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
                let text = bytes.drop { $0 == UInt8(ascii: " ") }
                let end = text.lastIndex { $0 != UInt8(ascii: " ") }.map { $0 + 1 }
                return String(decoding: text[..<(end ?? text.startIndex)], as: UTF8.self)
            }
            let forms = line[equals...].dropFirst().split(separator: UInt8(ascii: "|"))
            return (trimmed(line[..<equals]), forms.map(trimmed))
        }
    }
}

/// Text of a page. Raw values are keys of the files in `Languages`.
enum Phrase: String, Sendable, CaseIterable {
    case languageCode, languageName, direction, title, skip, languages, menu
    case chooseNetwork, choose, network, noNetworks, searching, searchAgain, more, otherNetwork, otherName, otherOpen
    case signal, secured, open, cannotJoin, password, passwordHelp, showPassword, join, joinHelp
    case trying, tryingHow, tryingAgain, elapsed, silent, silentNetwork
    case phaseAccepted, phaseJoining, phaseAddress, phaseValidating, phaseConfirmation
    case success, successNamed, successNext, successLeave, done, failure, minutesAgo, otherNetworks
    case nowOnline, nowConnected, nowNoInternet, nowSignIn, nowJoining, nowUplink, nowOffline
    case errorTitle, errorExpired, errorForeign, errorTooLarge, errorTooMany, errorNotFound, errorBusy, errorNetwork
    case errorPasswordLength, errorPasswordMissing, errorPasswordCharacters, errorNotPermitted, errorRefused
    case errorStored, errorName, errorAccessPoint, details, back
    case signIn, signInHelp, keyOrCode, signInWrong, signInInvitation, signOut, signInEnded
    case status, history, diagnosis, networks, addresses, nameDevice, save, metered, yes, no, since, wifi, noWifi,
        unchecked
    case signalChart, signalRange, signalNow, signalOffline, signalNone
    case storedNetworks, noStored, current, preferred, moveThere, up, down, remove, store
    case options, newPassword, optionManual, optionBand, optionAccessPoint, optionTKIP, automatic, inRange
    case historyEmpty, historyTime, historyWhat
    case diagnosisRun, diagnosisHelp, resultGood, resultBroken, resultDoubtful, resultSkipped

    /// A group of texts with a key for each code of the protocol, such as `why.wrongKey`.
    enum Family: String, Sendable {
        /// Reason of a decision or a failure.
        case why
        /// Remedy of a failure.
        case `do`
        /// Kind of a decision.
        case did
        case layer
        /// Remedy for a broken layer.
        case fix
    }
}

struct Translation: Sendable {
    let language: Language

    init(_ language: Language) { self.language = language }

    /// - Parameter values: replacements for `{1}`, `{2}` and so on.
    func callAsFunction(_ phrase: Phrase, _ values: String...) -> String {
        Self.pieces(text(phrase.rawValue) ?? phrase.rawValue, values).map(\.text).joined()
    }

    /// Returns the plural form for a number, which replaces `{1}`.
    func callAsFunction(_ phrase: Phrase, count: Int) -> String {
        let forms = language.forms(of: phrase.rawValue) ?? []
        let form = Plural.form(of: count, in: language.code)
        let text = forms.indices.contains(form) ? forms[form] : forms.last ?? phrase.rawValue
        return Self.pieces(text, ["\(count)"]).map(\.text).joined()
    }

    /// Returns the text with each value in a `bdi` element, so that its direction does not affect the sentence.
    func html(_ phrase: Phrase, _ values: String...) -> [HTML] {
        Self.html(text(phrase.rawValue) ?? phrase.rawValue, values)
    }

    /// - Returns: nil for a code without a text.
    func html(_ family: Phrase.Family, _ code: String, _ values: String...) -> [HTML]? {
        text("\(family.rawValue).\(code)").map { Self.html($0, values) }
    }

    /// - Returns: nil for a code without a text.
    func callAsFunction(_ family: Phrase.Family, _ code: String) -> String? { text("\(family.rawValue).\(code)") }

    private func text(_ key: String) -> String? { language.forms(of: key)?.first }

    private static func html(_ text: String, _ values: [String]) -> [HTML] {
        pieces(text, values).map { $0.isValue ? .tag("bdi", text: $0.text) : .text($0.text) }
    }

    private static func pieces(_ text: String, _ values: [String]) -> [(text: String, isValue: Bool)] {
        var pieces: [(text: String, isValue: Bool)] = []
        var rest = text[...]
        while let brace = rest.firstIndex(of: "{") {
            let place = rest[brace...].dropFirst().prefix(2)
            guard place.last == "}", let number = place.first?.wholeNumberValue, values.indices.contains(number - 1)
            else { break }
            pieces.append((String(rest[..<brace]), false))
            pieces.append((values[number - 1], true))
            rest = rest[brace...].dropFirst(3)
        }
        return pieces + [(String(rest), false)]
    }
}
