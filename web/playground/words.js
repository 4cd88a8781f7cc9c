// The texts of the page in the reader's language. The page and the code have the English texts; tables
// translate them, and missing texts stay English.

export const TABLES = {
  de: {
    'Connecting …': 'Verbinde …', 'API key': 'API-Schlüssel',
    'This server requires an API key. The page keeps it until you close this tab.':
      'Dieser Server lässt nur ein, wer einen Schlüssel hat. Er wird behalten, bis dieser Tab geschlossen wird.',
    'Text to speak': 'Text, der gesprochen wird', 'Voice': 'Stimme', 'Temperature': 'Temperatur', 'Seed': 'Startwert',
    "model's": 'wie das Modell', 'any': 'beliebig', 'More': 'Mehr', 'Model': 'Modell', 'Speed': 'Tempo',
    'File format': 'Format von Dateien', 'Language': 'Sprache', 'as the model decides': 'wie das Modell entscheidet',
    'Instructions': 'Anweisungen', 'how to speak': 'wie gesprochen wird', 'Speak': 'Sprechen', 'Stop': 'Anhalten',
    'Compare two': 'Zwei vergleichen', 'speaks,': 'spricht,', 'stops': 'hält an', 'Spoken': 'Gesprochenes',
    'Use from a program': 'Aus einem Programm', 'Language of the example': 'Sprache des Beispiels', 'Copy': 'Kopieren',
    'Copied': 'Kopiert', 'Example': 'Beispiel', 'Engine': 'Die Maschine, jetzt',
    'Audio made per second in the last minute': 'Je Sekunde erzeugter Ton in der letzten Minute',
    'Audio and text stay between this page and this server.': 'Ton und Text bleiben zwischen dieser Seite und diesem Server.',
    'health': 'Zustand', 'models': 'Modelle', 'voices': 'Stimmen', 'API': 'API', 'Pause': 'Pause', 'Play': 'Abspielen',
    'Download': 'Herunterladen', 'Download {format}': '{format} herunterladen',
    'There is no text to speak yet.': 'Noch ist kein Text da.', 'Speaking': 'Spricht', 'Stopped': 'Angehalten',
    'default voice': 'Standardstimme', 'waiting for the first audio …': 'wartet auf den ersten Ton …',
    'first audio {ms} ms': 'erster Ton nach {ms} ms', '{x} × real time': '{x} × Echtzeit', 'no gap': 'keine Lücke',
    '1 gap, {s} s in all': '1 Lücke, zusammen {s} s', '{n} gaps, {s} s in all': '{n} Lücken, zusammen {s} s',
    'seed {n}': 'Startwert {n}', 'stopped': 'angehalten', 'cut off': 'abgebrochen', 'failed': 'misslungen',
    'Position in {name}, seconds': 'Stelle in {name}, Sekunden',
    'Waveform and spectrum of {name}': 'Wellenform und Spektrum von {name}',
    'The server does not know this key.': 'Der Server kennt diesen Schlüssel nicht.',
    'This server requires an API key.': 'Dieser Server will einen API-Schlüssel.',
    'The server cannot be reached. Is it still running?': 'Der Server ist nicht zu erreichen. Läuft er noch?',
    'The server cannot be reached': 'Der Server ist nicht zu erreichen',
    'The server stopped before the end of the text.': 'Der Server hat vor dem Ende des Textes abgebrochen.',
    'ready': 'bereit', 'loading the model …': 'lädt das Modell …', 'stopping': 'hält an',
    'audio per second': 'Ton je Sekunde', 'streams': 'Ströme', 'requests': 'Anfragen', 'waiting': 'warten',
    'streams per step': 'Ströme je Schritt', 'most streams at a time': 'Ströme, die es trägt',
    'steps per second': 'Schritte je Sekunde', 'not loaded': 'nicht geladen', 'cache in use': 'Speicher belegt',
    'Hear each voice': 'Jede Stimme hören', 'Hear {name}': '{name} hören',
    'Your voices': 'Stimmen aus Aufnahmen', 'Name': 'Name', 'Recording': 'Aufnahme',
    'What it says': 'Was darin gesagt wird', 'The speaker agrees': 'Wer spricht, ist einverstanden', 'Record': 'Aufnehmen',
    'Stop recording': 'Aufnahme beenden', 'Keep this voice': 'Diese Stimme behalten', 'Delete': 'Löschen',
    'Delete {name} for good?': '{name} endgültig löschen?', 'Delete {name}': '{name} löschen',
    'Between {min} and {max} s of one speaker.': '{min} bis {max} s von einer Person.',
    'Recorded: {s} s': 'Aufgenommen: {s} s', 'Kept {name}': '{name} behalten', 'Deleted {name}': '{name} gelöscht',
    'Choose a file or record something first.': 'Erst eine Datei wählen oder etwas aufnehmen.',
    'The speaker must agree: tick the box.': 'Nur wer einverstanden ist, darf behalten werden: bitte ankreuzen.',
    'The microphone cannot be used: {why}': 'Das Mikrofon lässt sich nicht benutzen: {why}',
    'Conversation': 'Ein Gespräch', 'Text model': 'Wer antwortet', 'Talk': 'Reden', 'End': 'Beenden',
    'Level of the microphone': 'Pegel des Mikrofons', 'What was said': 'Was gesagt wurde', 'You': 'Sie',
    'interrupted after {s} s': 'unterbrochen nach {s} s', 'The conversation is over': 'Das Gespräch ist zu Ende',
    'Listening': 'Hört zu', 'You are speaking': 'Sie sprechen', 'Thinking …': 'Denkt nach …', 'Answering': 'Antwortet',
    'You are talking with a person by voice. Answer in one or two short sentences of plain words.':
      'Du sprichst mit jemandem. Antworte in einem oder zwei kurzen Sätzen aus einfachen Worten.',
    'Browsers allow the microphone only on pages of the same machine, or over TLS:':
      'Browser geben das Mikrofon nur Seiten des eigenen Rechners, oder über TLS:',
    'Or open the page through a tunnel, as one of your own machine:':
      'Ein Tunnel macht diese Seite zu einer des eigenen Rechners:',
    'To get answers, start the server with a text model as well:':
      'Damit jemand antwortet, braucht der Server auch ein Textmodell:',
    'To understand speech, the server needs a recogniser. Install one and restart the server:':
      'Um zu hören, braucht der Server eine Spracherkennung. Bitte installieren und ihn neu starten:',
    'Or start it with a Whisper:': 'Oder ihn mit einem Whisper starten:',
    'The browser does not let this page use the microphone. Allow it beside the address.':
      'Der Browser erlaubt dieser Seite das Mikrofon nicht. Es lässt sich neben der Adresse erlauben.',
    'There is no microphone.': 'Es gibt kein Mikrofon.',
    'Another program uses the microphone.': 'Ein anderes Programm benutzt das Mikrofon.',
    'The microphone is gone.': 'Das Mikrofon ist weg.',
    'The conversation could not begin. The reason is in the log of the server.':
      'Das Gespräch konnte nicht beginnen. Warum, steht im Protokoll des Servers.',
    'The server has ended the conversation.': 'Der Server hat das Gespräch beendet.',
    'Transcribe a recording': 'Eine Aufnahme, aufgeschrieben',
    'Choose a recording, or drop one on this page':
      'Eine Aufnahme, hier gewählt oder irgendwo auf dieser Seite abgelegt',
    'Recogniser': 'Spracherkennung', 'The recording': 'Die Aufnahme', 'What is said, and when': 'Was gesagt wird, und wann',
    'There is no recogniser here.': 'Hier gibt es keine Spracherkennung.', 'Transcribing {name} …': 'Schreibt {name} auf …',
    '{name} is transcribed': '{name} ist aufgeschrieben', 'no speech found': 'niemand spricht darin',
    'This browser cannot play the recording; its text is below.':
      'Dieser Browser kann die Aufnahme nicht abspielen; was sie sagt, steht unten.',
    'The server answered {status}.': 'Der Server hat {status} geantwortet.',
    'Try again in {s} s.': 'Bitte in {s} s noch einmal versuchen.',
    'up {time}, {n} spoken, {audio} of audio': 'läuft seit {time}, {n} gesprochen, {audio} Ton', '{n} days': '{n} Tage',
    'Audio made per second in the last minute, at most {s} seconds':
      'Je Sekunde erzeugter Ton in der letzten Minute, höchstens {s} Sekunden',
  },
  fr: {
    'Connecting …': 'Connexion …', 'API key': "Clé d'API",
    'This server requires an API key. The page keeps it until you close this tab.':
      "Ce serveur n'admet que ceux qui ont une clé. Elle est gardée jusqu'à la fermeture de l'onglet.",
    'Text to speak': 'Texte à dire', 'Voice': 'Voix', 'Temperature': 'Température', 'Seed': 'Graine', "model's": 'celle du modèle',
    'any': 'au choix', 'More': 'Plus', 'Model': 'Modèle', 'Speed': 'Vitesse', 'File format': 'Format des fichiers',
    'Language': 'Langue', 'as the model decides': 'selon le modèle', 'Instructions': 'Consignes', 'how to speak': 'comment parler',
    'Speak': 'Parler', 'Stop': 'Arrêter', 'Compare two': 'En comparer deux', 'speaks,': 'parle,', 'stops': 'arrête',
    'Spoken': 'Paroles', 'Use from a program': "Depuis un programme", 'Language of the example': "Langage de l'exemple",
    'Copy': 'Copier', 'Copied': 'Copié', 'Example': 'Exemple', 'Engine': 'Le moteur, maintenant',
    'Audio made per second in the last minute': 'Audio produit par seconde pendant la dernière minute',
    'Audio and text stay between this page and this server.': 'Audio et texte restent entre cette page et ce serveur.',
    'health': 'état', 'models': 'modèles', 'voices': 'voix', 'API': 'API', 'Pause': 'Pause', 'Play': 'Écouter', 'Download': 'Télécharger',
    'Download {format}': 'Télécharger {format}', 'There is no text to speak yet.': "Il n'y a pas encore de texte.",
    'Speaking': 'En train de parler', 'Stopped': 'Arrêté', 'default voice': 'voix par défaut',
    'waiting for the first audio …': 'attend le premier son …', 'first audio {ms} ms': 'premier son {ms} ms',
    '{x} × real time': '{x} × temps réel', 'no gap': 'sans coupure', '1 gap, {s} s in all': '1 coupure, {s} s en tout',
    '{n} gaps, {s} s in all': '{n} coupures, {s} s en tout', 'seed {n}': 'graine {n}', 'stopped': 'arrêté', 'cut off': 'interrompu',
    'failed': 'échoué', 'Position in {name}, seconds': 'Position dans {name}, secondes',
    'Waveform and spectrum of {name}': 'Onde et spectre de {name}',
    'The server does not know this key.': 'Le serveur ne connaît pas cette clé.',
    'This server requires an API key.': "Ce serveur demande une clé d'API.",
    'The server cannot be reached. Is it still running?': "Le serveur est injoignable. Tourne-t-il encore ?",
    'The server cannot be reached': 'Le serveur est injoignable',
    'The server stopped before the end of the text.': 'Le serveur a interrompu avant la fin du texte.',
    'ready': 'prêt', 'loading the model …': 'charge le modèle …', 'stopping': "s'arrête", 'audio per second': 'audio par seconde',
    'streams': 'flux', 'requests': 'requêtes', 'waiting': 'en attente', 'streams per step': 'flux par pas',
    'most streams at a time': 'flux possibles', 'steps per second': 'pas par seconde', 'not loaded': 'pas chargé', 'cache in use': 'cache occupé',
    'Hear each voice': 'Écouter chaque voix', 'Hear {name}': 'Écouter {name}',
    'Your voices': "Voix d'enregistrements", 'Name': 'Nom', 'Recording': 'Enregistrement', 'What it says': 'Ce qui y est dit',
    'The speaker agrees': "La personne est d'accord", 'Record': 'Enregistrer', 'Stop recording': "Finir l'enregistrement",
    'Keep this voice': 'Garder cette voix', 'Delete': 'Supprimer', 'Delete {name} for good?': 'Supprimer {name} pour de bon ?',
    'Delete {name}': 'Supprimer {name}', 'Between {min} and {max} s of one speaker.': "De {min} à {max} s d'une personne.",
    'Recorded: {s} s': 'Enregistré : {s} s', 'Kept {name}': '{name} gardée', 'Deleted {name}': '{name} supprimée',
    'Choose a file or record something first.': "Choisissez d'abord un fichier ou enregistrez quelque chose.",
    'The speaker must agree: tick the box.': "Il faut l'accord de la personne : cochez la case.",
    'The microphone cannot be used: {why}': 'Le micro ne peut servir : {why}',
    'Conversation': 'Une conversation', 'Text model': 'Qui répond', 'Talk': 'Discuter', 'End': 'Terminer',
    'Level of the microphone': 'Niveau du micro', 'What was said': 'Ce qui a été dit', 'You': 'Vous',
    'interrupted after {s} s': 'interrompu après {s} s', 'The conversation is over': 'La conversation est terminée',
    'Listening': 'Écoute', 'You are speaking': 'Vous parlez', 'Thinking …': 'Réfléchit …', 'Answering': 'Répond',
    'You are talking with a person by voice. Answer in one or two short sentences of plain words.':
      "Tu parles à quelqu'un de vive voix. Réponds en une ou deux phrases courtes, avec des mots simples.",
    'Browsers allow the microphone only on pages of the same machine, or over TLS:':
      "Les navigateurs ne donnent le micro qu'aux pages de leur propre machine, ou par TLS :",
    'Or open the page through a tunnel, as one of your own machine:':
      'Un tunnel fait de cette page une page de sa propre machine :',
    'To get answers, start the server with a text model as well:':
      'Pour avoir une réponse, lancez le serveur avec un modèle de texte aussi :',
    'To understand speech, the server needs a recogniser. Install one and restart the server:':
      "Pour entendre, le serveur a besoin d'une reconnaissance vocale. Installez-la et relancez-le :",
    'Or start it with a Whisper:': 'Ou lancez-le avec un Whisper :',
    'The browser does not let this page use the microphone. Allow it beside the address.':
      "Le navigateur refuse le micro à cette page. Autorisez-le à côté de l'adresse.",
    'There is no microphone.': "Il n'y a pas de micro.",
    'Another program uses the microphone.': 'Un autre programme utilise le micro.',
    'The microphone is gone.': 'Le micro a disparu.',
    'The conversation could not begin. The reason is in the log of the server.':
      "La conversation n'a pas pu commencer. Le journal du serveur dit pourquoi.",
    'The server has ended the conversation.': 'Le serveur a mis fin à la conversation.',
    'Transcribe a recording': 'Un enregistrement, mis par écrit',
    'Choose a recording, or drop one on this page':
      "Un enregistrement, choisi ici ou déposé n'importe où sur cette page",
    'Recogniser': 'Reconnaissance', 'The recording': "L'enregistrement",
    'What is said, and when': 'Ce qui est dit, et quand',
    'There is no recogniser here.': "Il n'y a pas de reconnaissance vocale ici.",
    'Transcribing {name} …': 'Met {name} par écrit …', '{name} is transcribed': '{name} est mis par écrit',
    'no speech found': "personne n'y parle",
    'This browser cannot play the recording; its text is below.':
      "Ce navigateur ne peut pas lire l'enregistrement ; ce qu'il dit est ci-dessous.",
    'The server answered {status}.': 'Le serveur a répondu {status}.', 'Try again in {s} s.': 'Réessayez dans {s} s.',
    'up {time}, {n} spoken, {audio} of audio': "en marche depuis {time}, {n} dits, {audio} d'audio", '{n} days': '{n} jours',
    'Audio made per second in the last minute, at most {s} seconds':
      'Audio produit par seconde pendant la dernière minute, au plus {s} secondes',
  },
  es: {
    'Connecting …': 'Conectando …', 'API key': 'Clave de API',
    'This server requires an API key. The page keeps it until you close this tab.':
      'Este servidor solo admite a quien tiene clave. Se guarda hasta que cierre esta pestaña.',
    'Text to speak': 'Texto que se dice', 'Voice': 'Voz', 'Temperature': 'Temperatura', 'Seed': 'Semilla', "model's": 'la del modelo',
    'any': 'cualquiera', 'More': 'Más', 'Model': 'Modelo', 'Speed': 'Velocidad', 'File format': 'Formato de archivos',
    'Language': 'Idioma', 'as the model decides': 'como decida el modelo', 'Instructions': 'Instrucciones',
    'how to speak': 'cómo hablar', 'Speak': 'Hablar', 'Stop': 'Parar', 'Compare two': 'Comparar dos', 'speaks,': 'habla,',
    'stops': 'para', 'Spoken': 'Lo dicho', 'Use from a program': 'Desde un programa', 'Language of the example': 'Lenguaje del ejemplo',
    'Copy': 'Copiar', 'Copied': 'Copiado', 'Example': 'Ejemplo', 'Engine': 'El motor, ahora',
    'Audio made per second in the last minute': 'Audio producido por segundo en el último minuto',
    'Audio and text stay between this page and this server.': 'Audio y texto quedan entre esta página y este servidor.',
    'health': 'estado', 'models': 'modelos', 'voices': 'voces', 'API': 'API', 'Pause': 'Pausa', 'Play': 'Escuchar', 'Download': 'Descargar',
    'Download {format}': 'Descargar {format}', 'There is no text to speak yet.': 'Aún no hay texto.', 'Speaking': 'Hablando',
    'Stopped': 'Parado', 'default voice': 'voz predeterminada', 'waiting for the first audio …': 'espera el primer sonido …',
    'first audio {ms} ms': 'primer sonido {ms} ms', '{x} × real time': '{x} × tiempo real', 'no gap': 'sin cortes',
    '1 gap, {s} s in all': '1 corte, {s} s en total', '{n} gaps, {s} s in all': '{n} cortes, {s} s en total',
    'seed {n}': 'semilla {n}', 'stopped': 'parado', 'cut off': 'interrumpido', 'failed': 'fallido',
    'Position in {name}, seconds': 'Posición en {name}, segundos', 'Waveform and spectrum of {name}': 'Onda y espectro de {name}',
    'The server does not know this key.': 'El servidor no conoce esta clave.',
    'This server requires an API key.': 'Este servidor pide una clave de API.',
    'The server cannot be reached. Is it still running?': 'No se puede alcanzar el servidor. ¿Sigue en marcha?',
    'The server cannot be reached': 'No se puede alcanzar el servidor',
    'The server stopped before the end of the text.': 'El servidor se interrumpió antes del final del texto.',
    'ready': 'listo', 'loading the model …': 'carga el modelo …', 'stopping': 'parando', 'audio per second': 'audio por segundo',
    'streams': 'flujos', 'requests': 'peticiones', 'waiting': 'en espera', 'streams per step': 'flujos por paso',
    'most streams at a time': 'flujos posibles', 'steps per second': 'pasos por segundo', 'not loaded': 'sin cargar', 'cache in use': 'caché en uso',
    'Hear each voice': 'Escuchar cada voz', 'Hear {name}': 'Escuchar {name}',
    'Your voices': 'Voces de grabaciones', 'Name': 'Nombre', 'Recording': 'Grabación', 'What it says': 'Lo que se dice',
    'The speaker agrees': 'Quien habla está de acuerdo', 'Record': 'Grabar', 'Stop recording': 'Terminar la grabación',
    'Keep this voice': 'Guardar esta voz', 'Delete': 'Borrar', 'Delete {name} for good?': '¿Borrar {name} para siempre?',
    'Delete {name}': 'Borrar {name}', 'Between {min} and {max} s of one speaker.': 'De {min} a {max} s de una persona.',
    'Recorded: {s} s': 'Grabado: {s} s', 'Kept {name}': '{name} guardada', 'Deleted {name}': '{name} borrada',
    'Choose a file or record something first.': 'Primero elija un archivo o grabe algo.',
    'The speaker must agree: tick the box.': 'Hace falta el acuerdo de la persona: marque la casilla.',
    'The microphone cannot be used: {why}': 'No se puede usar el micrófono: {why}',
    'Conversation': 'Una conversación', 'Text model': 'Quién responde', 'Talk': 'Conversar', 'End': 'Terminar',
    'Level of the microphone': 'Nivel del micrófono', 'What was said': 'Lo que se dijo', 'You': 'Usted',
    'interrupted after {s} s': 'interrumpido tras {s} s', 'The conversation is over': 'La conversación ha terminado',
    'Listening': 'Escuchando', 'You are speaking': 'Usted habla', 'Thinking …': 'Pensando …', 'Answering': 'Respondiendo',
    'You are talking with a person by voice. Answer in one or two short sentences of plain words.':
      'Hablas con alguien de viva voz. Responde en una o dos frases cortas con palabras sencillas.',
    'Browsers allow the microphone only on pages of the same machine, or over TLS:':
      'Los navegadores solo dan el micrófono a páginas de su propia máquina, o por TLS:',
    'Or open the page through a tunnel, as one of your own machine:':
      'Un túnel hace de esta página una de su propia máquina:',
    'To get answers, start the server with a text model as well:':
      'Para tener respuesta, inicie el servidor también con un modelo de texto:',
    'To understand speech, the server needs a recogniser. Install one and restart the server:':
      'Para oír, el servidor necesita un reconocedor. Instale uno y reinícielo:',
    'Or start it with a Whisper:': 'O inícielo con un Whisper:',
    'The browser does not let this page use the microphone. Allow it beside the address.':
      'El navegador no permite el micrófono a esta página. Permítalo junto a la dirección.',
    'There is no microphone.': 'No hay micrófono.',
    'Another program uses the microphone.': 'Otro programa usa el micrófono.',
    'The microphone is gone.': 'El micrófono ha desaparecido.',
    'The conversation could not begin. The reason is in the log of the server.':
      'La conversación no pudo empezar. El registro del servidor dice por qué.',
    'The server has ended the conversation.': 'El servidor ha terminado la conversación.',
    'Transcribe a recording': 'Una grabación, por escrito',
    'Choose a recording, or drop one on this page':
      'Una grabación, elegida aquí o soltada en cualquier parte de esta página',
    'Recogniser': 'Reconocedor', 'The recording': 'La grabación', 'What is said, and when': 'Qué se dice, y cuándo',
    'There is no recogniser here.': 'Aquí no hay reconocedor.', 'Transcribing {name} …': 'Escribiendo {name} …',
    '{name} is transcribed': '{name} está por escrito', 'no speech found': 'nadie habla en ella',
    'This browser cannot play the recording; its text is below.':
      'Este navegador no puede reproducir la grabación; lo que dice está abajo.',
    'The server answered {status}.': 'El servidor respondió {status}.',
    'Try again in {s} s.': 'Inténtelo de nuevo en {s} s.',
    'up {time}, {n} spoken, {audio} of audio':
      'en marcha desde hace {time}, {n} dichos, {audio} de audio',
    '{n} days': '{n} días',
    'Audio made per second in the last minute, at most {s} seconds':
      'Audio producido por segundo en el último minuto, {s} segundos como máximo',
  },
};

const wanted = (navigator.languages ?? []).map((tag) => tag.slice(0, 2).toLowerCase());
export const LANGUAGE = wanted.find((tag) => tag === 'en' || tag in TABLES) ?? 'en';
const table = TABLES[LANGUAGE] ?? {};

/** Returns `english` in the reader's language; {name} becomes values.name. */
export function t(english, values = {}) {
  return (table[english] ?? english).replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** Translates the page: its texts, and the attributes that users read. */
export function translate(root) {
  if (LANGUAGE === 'en') return;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const words = node.data.trim().replace(/\s+/g, ' ');
    if (words in table) node.data = node.data.replace(/\S[^]*\S|\S/, () => table[words]);
  }
  for (const name of ['placeholder', 'aria-label']) {
    for (const element of root.querySelectorAll(`[${name}]`)) {
      element.setAttribute(name, t(element.getAttribute(name)));
    }
  }
  for (const template of root.querySelectorAll('template')) translate(template.content);
}
