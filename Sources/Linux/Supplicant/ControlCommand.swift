import AgentModel

/// One command of wpa_supplicant's control interface, and what its answer must look like.
struct ControlCommand: Sendable {
    /// The command as errors name it: never with a value that could be secret.
    let name: String
    let answerForm: AnswerForm
    private let text: String
    private let secret: Secret?

    /// The form of an answer when the command was carried out. An answer of another form means that questions and
    /// answers went out of step.
    enum AnswerForm: Sendable {
        case ok
        case number
        case text
    }

    init(_ text: String, answer: AnswerForm = .ok) {
        name = text
        answerForm = answer
        self.text = text
        secret = nil
    }

    /// Sets one variable of a network.
    init(network: Int, _ setting: NetworkBlock.Setting) {
        name = "SET_NETWORK \(setting.name)"
        answerForm = .ok
        switch setting.value {
        case .plain(let value):
            text = "SET_NETWORK \(network) \(setting.name) \(value)"
            secret = nil
        case .secret(let value):
            text = "SET_NETWORK \(network) \(setting.name) "
            secret = value
        case .blob:
            text = "SET_NETWORK \(network) \(setting.name) \"blob://\(setting.blobName(ofNetwork: network) ?? "")\""
            secret = nil
        }
    }

    /// Gives wpa_supplicant the content of a blob, in the place of one with this name.
    init(blob name: String, _ content: Secret) {
        self.name = "SET blob \(name)"
        answerForm = .ok
        text = "SET blob \(name) "
        secret = content
    }

    /// Makes the private key of the device's own code for Easy Connect known, and answers with its number.
    init(easyConnectKey key: Secret) {
        name = "DPP_BOOTSTRAP_GEN"
        answerForm = .number
        text = "DPP_BOOTSTRAP_GEN type=qrcode key="
        secret = key
    }

    /// Lends the bytes of the command and wipes them afterwards. A secret goes as hexadecimal digits, which
    /// wpa_supplicant takes for every string: no byte of a password can end it early (hostap, wpa_config_parse_string).
    func withBytes<Value>(
        _ body: (UnsafeRawBufferPointer) throws(SupplicantError) -> Value
    ) throws(SupplicantError) -> Value {
        let plain = text.utf8
        let length = plain.count + 2 * (secret?.count ?? 0)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 1)
        defer {
            wipe(buffer)
            buffer.deallocate()
        }
        buffer.copyBytes(from: plain)
        secret?.withBytes { bytes in
            for (index, byte) in bytes.enumerated() {
                buffer[plain.count + 2 * index] = Self.digit(byte >> 4)
                buffer[plain.count + 2 * index + 1] = Self.digit(byte & 0xf)
            }
        }
        return try body(UnsafeRawBufferPointer(buffer))
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

extension ControlCommand {
    static let attach = ControlCommand("ATTACH")
    static let status = ControlCommand("STATUS", answer: .text)
    static let addNetwork = ControlCommand("ADD_NETWORK", answer: .number)
    static let listNetworks = ControlCommand("LIST_NETWORKS", answer: .text)
    static let keyManagement = ControlCommand("GET_CAPABILITY key_mgmt", answer: .text)
    static let authentication = ControlCommand("GET_CAPABILITY auth_alg", answer: .text)
    static let ciphers = ControlCommand("GET_CAPABILITY pairwise", answer: .text)
    static let disconnect = ControlCommand("DISCONNECT")
    static let removeAllNetworks = ControlCommand("REMOVE_NETWORK all")
    /// Begins IEEE 802.1X anew, on the link as it is.
    static let authenticateAgain = ControlCommand("REAUTHENTICATE")

    static func selectNetwork(_ id: Int) -> ControlCommand { ControlCommand("SELECT_NETWORK \(id)") }
    /// Takes the link in use over to this access point, by asking that (`hostap`, `ROAM`).
    static func roam(to bssid: BSSID) -> ControlCommand { ControlCommand("ROAM \(bssid)") }
    /// The same by asking through the present one (`FT_DS`).
    static func fastTransition(to bssid: BSSID) -> ControlCommand { ControlCommand("FT_DS \(bssid)") }
    /// Asks the access point in use for its neighbours (IEEE 802.11-2020, 9.6.6.6).
    static let neighbours = ControlCommand("NEIGHBOR_REP_REQUEST")
    static func removeNetwork(_ id: Int) -> ControlCommand { ControlCommand("REMOVE_NETWORK \(id)") }
    static func variable(_ name: String, ofNetwork id: Int) -> ControlCommand {
        ControlCommand("GET_NETWORK \(id) \(name)", answer: .text)
    }
}

/// The answer of wpa_supplicant to a command.
enum ControlAnswer: Sendable, Equatable {
    case ok
    case number(Int)
    case text(String)

    /// - Throws: `refused` for `FAIL` and `UNKNOWN COMMAND`, `malformedReply` for anything that is no answer to
    ///   `command`.
    init(_ bytes: some Collection<UInt8>, to command: ControlCommand) throws(SupplicantError) {
        // All answers are text. Bytes in it that are not valid UTF-8 become replacement characters and fit nothing.
        let text = String(decoding: bytes, as: UTF8.self)
        let line = text.last == "\n" ? text.dropLast() : text[...]
        if line.hasPrefix("FAIL") || line == "UNKNOWN COMMAND" {
            throw .refused(command: command.name, reply: PrintableLine.of(line))
        }
        switch command.answerForm {
        case .ok where line == "OK":
            self = .ok
        case .number:
            guard let number = Int(line), number >= 0 else { throw .malformedReply(command: command.name) }
            self = .number(number)
        case .text where line != "OK":
            self = .text(text)
        default:
            throw .malformedReply(command: command.name)
        }
    }
}

/// Text from outside, made safe for a terminal and a log.
enum PrintableLine {
    static let maximumLength = 200

    /// The beginning of `text`, with everything but printable ASCII replaced.
    static func of(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.prefix(maximumLength).map { (0x20...0x7e).contains($0) ? $0 : 0x3f }, as: UTF8.self)
    }
}
