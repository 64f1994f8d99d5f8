import AgentModel
import ConnectionMonitor
import FailoverPolicy
import OnlineValidation

extension ConnectivitySettings {
    init(from reader: inout SettingsReader) throws(InvalidSetting) {
        targets = try Self.targets(from: &reader)
        keepAlive = try Self.keepAlive(from: &reader)
        source = try Self.source(from: &reader)
        budget.questionsPerHour = try reader.number(
            "ALTNET_VALIDATION_QUESTIONS", default: budget.questionsPerHour, in: 12...3600)
        budget.bytesPerHour =
            try reader.number("ALTNET_VALIDATION_KB", default: budget.bytesPerHour / 1000, in: 20...1_000_000) * 1000
        required = try Self.required(from: &reader, hasTargets: !targets.isEmpty, hasSource: source != nil)
        authorities = try reader.path("ALTNET_AUTHORITIES", example: "/etc/altnet/authorities.pem")
        providersSocket = try reader.path("ALTNET_PROVIDERS", example: "/run/altnet/providers.sock")
    }

    private static func targets(from reader: inout SettingsReader) throws(InvalidSetting) -> [Target] {
        let name = "ALTNET_TARGETS"
        guard let text = reader.anyText(name) else { return [] }
        do throws(TargetError) {
            return try Target.all(text)
        } catch {
            throw InvalidSetting(
                name: name, problem: "cannot be used: \(error)",
                allowed:
                    "NAME=[SCHEME://]HOST:PORT, separated by spaces; SCHEME is \(Target.schemes.joined(separator: ", "))"
            )
        }
    }

    private static func keepAlive(from reader: inout SettingsReader) throws(InvalidSetting) -> KeepAlive {
        var keepAlive = KeepAlive()
        try reader.read("ALTNET_KEEPALIVE_S", into: &keepAlive.idle, in: 1...3600)
        try reader.read("ALTNET_KEEPALIVE_RETRY_S", into: &keepAlive.interval, in: 1...60)
        keepAlive.count = try reader.number("ALTNET_KEEPALIVE_COUNT", default: keepAlive.count, in: 1...10)
        try reader.read("ALTNET_KEEPALIVE_REQUEST_S", into: &keepAlive.application, in: 5...3600)
        return keepAlive
    }

    private static func source(from reader: inout SettingsReader) throws(InvalidSetting) -> ValidationSource? {
        let name = "ALTNET_VALIDATION_URL"
        let url = reader.anyText(name)
        let status = reader.anyText("ALTNET_VALIDATION_STATUS")
        let body = reader.anyText("ALTNET_VALIDATION_BODY")
        guard let url else {
            guard let stray = [("STATUS", status), ("BODY", body)].first(where: { $0.1 != nil }) else { return nil }
            throw InvalidSetting(
                name: "ALTNET_VALIDATION_\(stray.0)", problem: "is set without ALTNET_VALIDATION_URL",
                allowed: "nothing, or the URL as well")
        }
        do throws(InvalidValidationSource) {
            return try ValidationSource(url: url, status: status, body: body)
        } catch {
            throw InvalidSetting(
                name: name, problem: "cannot be used: \(error)", allowed: "a URL such as http://HOST/PATH")
        }
    }

    /// What matters most is that the device's own servers are reached.
    private static func required(
        from reader: inout SettingsReader, hasTargets: Bool, hasSource: Bool
    ) throws(InvalidSetting) -> ReachLevel {
        let name = "ALTNET_REQUIRED_LEVEL"
        guard let text = reader.anyText(name) else { return hasTargets ? .target : hasSource ? .internet : .lan }
        guard let level = ReachLevel(rawValue: text) else {
            throw InvalidSetting(
                name: name, problem: "is \"\(text)\"",
                allowed: ReachLevel.allCases.map(\.rawValue).joined(separator: ", "))
        }
        if level == .target, !hasTargets {
            throw InvalidSetting(
                name: name, problem: "is target, and there is none", allowed: "ALTNET_TARGETS as well, or a lower level"
            )
        }
        if level == .internet, !hasTargets, !hasSource {
            throw InvalidSetting(
                name: name, problem: "is internet, and there is nobody to ask",
                allowed: "ALTNET_VALIDATION_URL or ALTNET_TARGETS as well, or a lower level")
        }
        return level
    }
}

extension PolicySettings {
    /// - Parameter required: where it is the link, there is nothing to ask for.
    mutating func readValidation(
        required: ReachLevel, from reader: inout SettingsReader
    ) throws(InvalidSetting) {
        var validation = Validation()
        try reader.read("ALTNET_VALIDATION_INTERVAL_S", into: &validation.interval, in: 5...3600)
        try reader.read("ALTNET_VALIDATION_LIMIT_S", into: &validation.limit, in: 1...30)
        validation.strikes = try reader.number("ALTNET_VALIDATION_STRIKES", default: validation.strikes, in: 1...5)
        try reader.read("ALTNET_VALIDATION_RETRY_S", into: &validation.retry, in: 1...60)
        validation.doubtLimit = min(validation.doubtLimit, validation.limit)
        try reader.read("ALTNET_VALIDATION_DOUBT_LIMIT_S", into: &validation.doubtLimit, in: 1...30)
        guard validation.doubtLimit <= validation.limit else {
            throw InvalidSetting(
                name: "ALTNET_VALIDATION_DOUBT_LIMIT_S", problem: "is longer than ALTNET_VALIDATION_LIMIT_S",
                allowed: "at most as long")
        }
        try reader.read("ALTNET_SIGN_IN_LIMIT_S", into: &validation.signInLimit, in: 10...600)
        self.validation = required == .link ? nil : validation
        var block = noInternetBlock.first
        try reader.read("ALTNET_NO_INTERNET_RETRY_S", into: &block, in: 10...86_400)
        noInternetBlock.begin(with: block)
    }
}
