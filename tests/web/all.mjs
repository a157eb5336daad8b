// Every test of the page in one process, so that they share an appliance and a browser.
import './story.test.mjs';
import './page.test.mjs';
import './joining.test.mjs';
import './relations.test.mjs';
import './joined.test.mjs';
import './assembly.test.mjs';
import './freedoms.test.mjs';
import './tasks.test.mjs';
import './mechanisms.test.mjs';
import './contacts.test.mjs';
import './surfaces.test.mjs';
import './view.test.mjs';
import './keyboard.test.mjs';
import './together.test.mjs';
import './imports.test.mjs';
import './trust.test.mjs';
