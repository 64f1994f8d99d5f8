import AgentCore
import AgentModel
import Connectivity

extension ConnectivitySettings {
    init(from reader: inout SettingsReader) {
        targets = Self.targets(from: &reader)
        keepAlive.idle = reader.seconds(.keepAlive)
        keepAlive.interval = reader.seconds(.keepAliveRetry)
        keepAlive.count = reader.number(.keepAliveCount)
        keepAlive.application = reader.seconds(.keepAliveRequest)
        source = Self.source(from: &reader)
        budget.questionsPerHour = reader.number(.validationQuestions)
        budget.bytesPerHour = reader.number(.validationVolume) * 1000
        setLevel = Self.level(from: &reader, hasTargets: !targets.isEmpty, hasSource: source != nil)
        authorities = reader.optionalPath(.authorities)
        providersSocket = reader.optionalPath(.providers)
    }

    private static func targets(from reader: inout SettingsReader) -> [Target] {
        guard let text = reader.anyText(.targets) else { return [] }
        do throws(TargetError) {
            return try Target.all(text)
        } catch {
            reader.refuse(.targets, "cannot be used: \(error)", allowed: Setting.targets.form.allowed)
            return []
        }
    }

    private static func source(from reader: inout SettingsReader) -> ValidationSource? {
        guard let url = reader.anyText(.validationURL) else {
            for stray in [Setting.validationStatus, .validationBody] where reader.anyText(stray) != nil {
                reader.refuse(
                    stray, "is set without ALTNET_VALIDATION_URL",
                    allowed: "no value unless ALTNET_VALIDATION_URL is set")
            }
            return nil
        }
        do throws(InvalidValidationSource) {
            return try ValidationSource(
                url: url, status: reader.anyText(.validationStatus), body: reader.anyText(.validationBody))
        } catch {
            reader.refuse(
                .validationURL, "cannot be used: \(error)", allowed: Setting.validationURL.form.allowed,
                besides: [.validationStatus, .validationBody])
            return nil
        }
    }

    private static func level(from reader: inout SettingsReader, hasTargets: Bool, hasSource: Bool) -> ReachLevel? {
        guard let text = reader.anyText(.requiredLevel) else { return nil }
        guard let level = ReachLevel(rawValue: text) else {
            reader.refuse(.requiredLevel, "is \(text.quoted)", allowed: Setting.requiredLevel.form.allowed)
            return nil
        }
        if level == .target, !hasTargets, !reader.isRefused(.targets) {
            reader.refuse(
                .requiredLevel, "is target, but no target is set",
                allowed: "a lower level, or target with ALTNET_TARGETS")
        }
        if level == .internet, !hasTargets, !hasSource, !reader.isRefused(.targets, .validationURL) {
            reader.refuse(
                .requiredLevel, "is internet, but there is no server to check",
                allowed: "a lower level, or internet with ALTNET_VALIDATION_URL or ALTNET_TARGETS")
        }
        return level
    }
}
