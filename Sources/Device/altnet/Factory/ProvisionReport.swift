import Agent
import AgentModel
import AppProtocol

/// What `altnet provision` did, or would do.
struct ProvisionReport {
    let document: Document
    /// Where it is to be shown.
    let code: PairingCode?

    struct Document: Encodable {
        /// Absent where it is still to be made.
        let deviceId: String?
        let identity: Provisioning.Step
        let rootKey: Provisioning.Step
        let rootKeyFile: String
        /// Absent where none was given.
        let network: Provisioning.Step?
        let ssid: String?
        let ssidHex: String?
        let code: String?
        let file: String?
        let dryRun: Bool
    }

    private let network: SSID?

    init(
        _ plan: Provisioning.Plan, id: String?, network: SSID?, rootKey: String, code: PairingCode?, file: String?,
        isDryRun: Bool
    ) {
        self.code = code
        self.network = network
        let name = network.map { SSID.JSONMembers($0) }
        document = Document(
            deviceId: id, identity: plan.identity, rootKey: plan.rootKey, rootKeyFile: rootKey, network: plan.network,
            ssid: name?.ssid, ssidHex: name?.ssidHex,
            code: code?.uri(), file: file, dryRun: isDryRun)
    }

    var text: String {
        var lines = [
            "Identity  \(document.deviceId ?? "a random one"), \(word(document.identity))",
            "Root key  \(document.rootKeyFile.printable), \(word(document.rootKey))",
        ]
        if let network, let step = document.network { lines.append("Network   \(network), \(word(step))") }
        if let file = document.file { lines.append("Code      \(file.printable)") }
        if document.dryRun { lines.append("Nothing was done: this is what would be.") }
        return lines.joined(separator: "\n")
    }

    private func word(_ step: Provisioning.Step) -> String {
        switch (step, document.dryRun) {
        case (.kept, _): "as it was"
        case (_, true): "to be \(step.rawValue)"
        case (_, false): step.rawValue
        }
    }
}
