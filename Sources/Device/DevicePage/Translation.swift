import AppProtocol

enum Language: String, Sendable, CaseIterable {
    case en, de

    /// Chooses the browser's preferred available language (RFC 9110, 12.5.4), otherwise English.
    init(accepting header: String?) {
        let ranges = (header ?? "").prefix(256).split(separator: ",").prefix(16).map { range -> (String, Double) in
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " } }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            let tag = parts.first?.split(separator: "-").first.map { $0.lowercased() } ?? ""
            return (tag, weight.isFinite ? weight : 0)
        }
        let known = ranges.filter { Language(rawValue: $0.0) != nil && $0.1 > 0 }
        // Chooses the first language of those with equal weight.
        let best = known.reduce(nil as (String, Double)?) { best, range in
            best.map { $0.1 >= range.1 } ?? false ? best : range
        }
        self = best.flatMap { Language(rawValue: $0.0) } ?? .en
    }

    var ownName: String {
        switch self {
        case .en: "English"
        case .de: "Deutsch"
        }
    }
}

/// Text of a page. Raw values are the keys of the files in `Languages`.
enum Phrase: String, Sendable, CaseIterable {
    case title, skip, languages
    case chooseNetwork, choose, network, noNetworks, searching, searchAgain, otherNetwork, otherName, otherOpen
    case signal, secured, open, cannotJoin
    case password, passwordHelp, showPassword, join
    case trying, tryingPlace, tryingHow, tryingAgain, tryingName
    case phaseAccepted, phaseJoining, phaseAddress, phaseValidating, phaseConfirmation
    case success, successAddress, successName, successLeave
    case failure, failureBack, otherNetworks
    case reasonWrongKey = "reason.wrongKey"
    case reasonAccessPointFull = "reason.accessPointFull"
    case reasonNotFound = "reason.notFound"
    case reasonLessSecure = "reason.lessSecure"
    case reasonUnsupportedSecurity = "reason.unsupportedSecurity"
    case reasonRejected = "reason.rejected"
    case reasonCertificateRefused = "reason.certificateRefused"
    case reasonTimeout = "reason.timeout"
    case reasonLinkLost = "reason.linkLost"
    case reasonNoAddress = "reason.noAddress"
    case reasonCaptive = "reason.captive"
    case reasonNoInternet = "reason.noInternet"
    case reasonUnconfirmed = "reason.unconfirmed"
    case reasonInterrupted = "reason.interrupted"
    case reasonSupplicantUnavailable = "reason.supplicantUnavailable"
    case reasonInterfaceDown = "reason.interfaceDown"
    case reasonUnknown = "reason.unknown"
    case errorTitle, errorExpired, errorForeign, errorTooLarge, errorNotFound, errorBusy, errorNetwork
    case errorPasswordLength, errorPasswordMissing, errorPasswordCharacters, errorNotPermitted, errorRefused
    case errorName, back
    case signIn, signInHelp, keyOrCode, signInWrong, signInInvitation, signOut, signInEnded
    case status, history, diagnosis, networks, menu
    case state, stateOffline, stateJoining, stateAddress, stateOnline
    case addresses
    case deviceName, nameDevice, saveName
    case internet, internetYes, internetNo, internetCaptive, internetUnknown, internetUnchecked, internetMetered
    case since, noWifi
    case signalChart, signalSummary, signalNone
    case storedNetworks, noStored, current, moveThere, inRange
    case historyEmpty, historyTime, historyWhat
    case diagnosisRun, diagnosisHelp, resultGood, resultBroken, resultDoubtful, resultSkipped
    case layerRadio = "layer.radio"
    case layerAssociation = "layer.association"
    case layerAddress = "layer.address"
    case layerGateway = "layer.gateway"
    case layerNames = "layer.names"
    case layerInternet = "layer.internet"
    case layerTarget = "layer.target"
}

extension Phrase {
    init(_ reason: ReasonCode?) {
        self = reason.flatMap { Phrase(rawValue: "reason.\($0.rawValue)") } ?? .reasonUnknown
    }

    init(_ layer: Diagnosis.Layer) { self = Phrase(rawValue: "layer.\(layer.rawValue)") ?? .network }
}

struct Translation: Sendable {
    let language: Language
    private let phrases: [Phrase: String]

    init(_ language: Language) { self = language == .de ? Self.german : Self.english }

    private init(_ language: Language, reading file: [UInt8]) {
        self.language = language
        phrases = Self.entries(of: file).reduce(into: [:]) { phrases, entry in
            if let phrase = Phrase(rawValue: entry.key) { phrases[phrase] = entry.text }
        }
    }

    private static let english = Translation(.en, reading: PackageResources.en_txt)
    private static let german = Translation(.de, reading: PackageResources.de_txt)

    /// Parses lines of `key = text`. Ignores empty lines and those with `#`.
    static func entries(of file: [UInt8]) -> [(key: String, text: String)] {
        file.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard line.first != UInt8(ascii: "#"), let equals = line.firstIndex(of: UInt8(ascii: "=")) else {
                return nil
            }
            func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
                let text = bytes.drop { $0 == UInt8(ascii: " ") }
                let end = text.lastIndex { $0 != UInt8(ascii: " ") }.map { $0 + 1 }
                return String(decoding: text[..<(end ?? text.startIndex)], as: UTF8.self)
            }
            return (trimmed(line[..<equals]), trimmed(line[equals...].dropFirst()))
        }
    }

    static func file(of language: Language) -> [UInt8] {
        switch language {
        case .en: PackageResources.en_txt
        case .de: PackageResources.de_txt
        }
    }

    /// - Parameter values: replacements for `{1}`, `{2}` and so on.
    func callAsFunction(_ phrase: Phrase, _ values: String...) -> String {
        let text = phrases[phrase] ?? phrase.rawValue
        guard !values.isEmpty else { return text }
        var result = ""
        var rest = text[...]
        while let brace = rest.firstIndex(of: "{") {
            result += rest[..<brace]
            rest = rest[brace...]
            let place = rest.dropFirst().prefix(2)
            if place.last == "}", let number = place.first?.wholeNumberValue, values.indices.contains(number - 1) {
                result += values[number - 1]
                rest = rest.dropFirst(3)
            } else {
                result.append("{")
                rest = rest.dropFirst()
            }
        }
        return result + rest
    }
}
