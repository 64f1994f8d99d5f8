import AgentModel

extension ControlChannel {
    func status() async throws(SupplicantError) -> SupplicantStatus {
        SupplicantStatus(try await text(.status))
    }

    /// The words of an answer.
    func words(_ command: ControlCommand) async throws(SupplicantError) -> Set<String> {
        Set(try await text(command).split(whereSeparator: \.isWhitespace).map(String.init))
    }

    func text(_ command: ControlCommand) async throws(SupplicantError) -> String {
        guard case .text(let text) = try await ask(command) else { throw .malformedReply(command: command.name) }
        return text
    }

    /// Makes an empty network, and returns its number.
    func addNetwork() async throws(SupplicantError) -> Int {
        guard case .number(let number) = try await ask(.addNetwork) else {
            throw .malformedReply(command: ControlCommand.addNetwork.name)
        }
        return number
    }

    /// For what some builds cannot do, or what is done already: a refusal is as good.
    func askLeniently(_ command: ControlCommand) async throws(SupplicantError) {
        do throws(SupplicantError) {
            try await ask(command)
        } catch .refused {
        }
    }

    /// Ends whatever wpa_supplicant is doing, and has it forget all networks.
    func forgetNetworks() async throws(SupplicantError) {
        try await askLeniently(.disconnect)
        try await askLeniently(.removeAllNetworks)
    }

    /// Has wpa_supplicant forget all networks but one.
    func forgetNetworks(except kept: Int) async throws(SupplicantError) {
        // An answer holds a few dozen networks, so more than one round is rare, and more than a few are an error.
        for _ in 0..<16 {
            let others = NetworkList.numbers(in: try await text(.listNetworks)).filter { $0 != kept }
            guard !others.isEmpty else { return }
            for network in others { try await askLeniently(.removeNetwork(network)) }
        }
    }
}

/// The answer to `LIST_NETWORKS`.
enum NetworkList {
    /// wpa_supplicant's numbers of its networks: after a line of headings, `0<tab>Home<tab>any<tab>[CURRENT]`.
    static func numbers(in text: String) -> [Int] {
        text.split(separator: "\n").dropFirst().compactMap { $0.split(separator: "\t").first.flatMap { Int($0) } }
    }
}
