import AppProtocol

/// One connection to the host, and through it to a provider: which bytes go out, and what those mean that come in.
///
/// There is one question at a time. Whatever comes without having been asked for ends the conversation.
struct Conversation: Sendable {
    enum Output: Sendable, Equatable {
        case send([UInt8])
        case listed(ProviderList)
        case answered(ProviderAnswer)
        /// It is over.
        case failed(ProviderFault)
    }

    private enum Expected {
        case list
        case answer(String, ProviderRequest.Kind)
        case nothing
        case over
    }

    private var splitter = LineSplitter()
    private var expected: Expected = .nothing
    private var lastId = 0
    /// What is asked once the provider has said that it is one.
    private var first: ProviderRequest.Content?

    /// Asks the host which providers there are.
    static func listing() -> (Conversation, [Output]) {
        var conversation = Conversation()
        conversation.expected = .list
        let outputs = conversation.written { () throws(ProtocolError) in try HostRequest.list.line() }
        return (conversation, outputs)
    }

    /// Has the host start a provider, and asks it something.
    static func opening(_ provider: String, _ content: ProviderRequest.Content) -> (Conversation, [Output]) {
        var conversation = Conversation()
        conversation.first = content
        var outputs = conversation.written { () throws(ProtocolError) in
            try HostRequest.open(provider: provider).line()
        }
        outputs += conversation.ask(.hello)
        return (conversation, outputs)
    }

    mutating func ask(_ content: ProviderRequest.Content) -> [Output] {
        lastId += 1
        let request = ProviderRequest(id: "\(lastId)", content: content)
        expected = .answer(request.id, request.kind)
        return written { () throws(ProtocolError) in try request.line() }
    }

    mutating func receive(_ bytes: some Sequence<UInt8>) -> [Output] {
        splitter.append(bytes)
        var outputs: [Output] = []
        while let next = splitter.next() {
            switch next {
            case .lineTooLong: outputs += fail(.garbage(ProtocolError.lineTooLong.message))
            case .line(let line): outputs += receive(line: line)
            }
        }
        return outputs
    }

    /// The connection has ended.
    mutating func end() -> [Output] { fail(.ended) }

    private mutating func receive(line: [UInt8]) -> [Output] {
        do throws(ProviderFault) {
            switch expected {
            case .over: return []
            case .nothing: throw .garbage("it answers what was not asked")
            case .list:
                let list = try ProviderList(line: line)
                expected = .over
                return [.listed(list)]
            case .answer(let id, let kind):
                let answer = try ProviderAnswer(line: line, to: id, of: kind)
                expected = .nothing
                guard let content = first else { return [.answered(answer)] }
                first = nil
                return ask(content)
            }
        } catch {
            return fail(error)
        }
    }

    private mutating func fail(_ fault: ProviderFault) -> [Output] {
        if case .over = expected { return [] }
        expected = .over
        return [.failed(fault)]
    }

    private mutating func written(_ line: () throws(ProtocolError) -> [UInt8]) -> [Output] {
        do {
            return [.send(try line() + [UInt8(ascii: "\n")])]
        } catch {
            return fail(.garbage("the question does not fit a line"))
        }
    }
}
