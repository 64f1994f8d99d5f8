import Agent

/// Table of the files that altnet keeps on a device, and the ways to remove them.
enum KeptFileTable {
    static func text() throws -> String {
        let settings = try AgentSettings(environment: ["ALTNET_ROOT_KEY": AgentSettings.packagedRootKey])
        return Markdown.table(
            ["file", "what it has", "`factory-reset`", "button", "purge", "why not"], centred: [2, 3, 4],
            KeptFile.all.map { file in
                func mark(_ taker: KeptFile.Takers) -> String { file.takenBy.contains(taker) ? "x" : "" }
                return [
                    Markdown.code(name(of: file, settings)), file.content, mark(.reset), mark(.button), mark(.purge),
                    file.reason,
                ]
            })
    }

    private static func name(of file: KeptFile, _ settings: AgentSettings) -> String {
        switch file.place {
        case .state, .store, .rootKey, .runtime, .socket, .system, .givenBack: file.paths(settings).first ?? file.name
        case .anchor, .recording, .metrics, .metricsSocket: file.name
        }
    }
}
